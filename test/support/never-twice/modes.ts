import fc from 'fast-check';
import type { AnswerToUnknown, PasswordCheck } from '../../../infra/local/platforms/simulated-server.ts';
import type { TextServerOptions } from '../../../infra/local/platforms/text-server.ts';
import type { WebApiServerOptions } from '../../../infra/local/platforms/web-api-server.ts';
import type { LoginRange } from '../../../lib/records/crm-records.ts';
import type { KeyedConnectionId, ServerName } from '../account-connections.ts';
import type { AccountWorld } from '../account-world.ts';

/** The behavior in which the servers of a history differ from others. */
export interface ServerModes {
  /** The answers to `check_password` and `WCHECKPASS`. A silent server stays silent until the faults are cleared. */
  passwordCheck: PasswordCheck;
  /** True: the CRM knows that the gateway never answers a question for a password. */
  isSilenceKnown: boolean;
  passwordCommand: NonNullable<TextServerOptions['passwordCommand']>;
  /** The gateway's answers to `WCHKACCOUNT`. `refused`: the gateway has no such command. */
  accountCheck: Exclude<AnswerToUnknown, 'silent'>;
  /** The initial visibility of accounts for the tp5 manager. */
  personalData: boolean | 'names';
  /** The paths of the tp5 server. */
  paths: 'api' | NonNullable<WebApiServerOptions['older']>;
}

export const arbitraryServerModes: fc.Arbitrary<ServerModes> = fc.record({
  passwordCheck: fc.oneof(
    ...[fc.constant('known' as const), fc.constant('known' as const)],
    fc.constantFrom<PasswordCheck[]>('refused', 'silent', 'accepts_any', 'accepts_any', 'second_silent'),
  ),
  isSilenceKnown: fc.boolean(),
  passwordCommand: fc.constantFrom('CHECKPASS', 'CHECKPASS', 'CHKACCPASS'),
  accountCheck: fc.constantFrom('known', 'known', 'refused'),
  personalData: fc.constantFrom<(boolean | 'names')[]>(true, true, false, 'names'),
  paths: fc.constantFrom<ServerModes['paths'][]>('api', 'api', 'api', 'api', 'api', 'body', 'query_3', 'query_404'),
});

/** The servers of a world, and the CRM's knowledge of them, in the modes of a history. */
export class ModedServers {
  readonly #world: AccountWorld;
  readonly #modes: ServerModes;

  constructor(world: AccountWorld, modes: ServerModes) {
    this.#world = world;
    this.#modes = modes;
    const { passwordCheck, passwordCommand, accountCheck, personalData, paths } = modes;
    Object.assign(world.gateway, { passwordCheck, passwordCommand, accountCheck });
    Object.assign(world.webApi, { passwordCheck, older: paths === 'api' ? undefined : paths });
    world.rights.personalData = personalData;
  }

  /** Whether the tp5 server refuses a wrong password. */
  get checksPasswords(): boolean {
    return this.#modes.passwordCheck === 'known' && this.#modes.paths === 'api';
  }

  /** Whether a server can say that a login exists. */
  showsLogins(server: ServerName): boolean {
    return server !== 'gw' || this.#modes.accountCheck === 'known';
  }

  /** Writes the ranges of a connection. @param strict others open accounts in these ranges too */
  writeRanges(id: KeyedConnectionId, logins: LoginRange | readonly LoginRange[], strict = false): Promise<void> {
    const lacks = this.#isSilenceKnown && id.startsWith('gw-') ? { lacks: ['password_check'] } : {};
    return this.#world.writeConnection(id, { logins, strict, ...lacks });
  }

  /** Clears the faults. A gateway that the CRM knows as silent stays silent. */
  heal(): void {
    const { gateway, webApi, clearFaults } = this.#world;
    clearFaults();
    for (const server of this.#isSilenceKnown ? [webApi] : [webApi, gateway]) {
      if (server.passwordCheck?.endsWith('silent') === true) server.passwordCheck = 'known';
    }
  }

  get #isSilenceKnown(): boolean {
    return this.#modes.passwordCheck === 'silent' && this.#modes.isSilenceKnown;
  }
}
