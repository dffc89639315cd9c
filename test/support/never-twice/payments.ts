import type { IncomingCall } from '../../../infra/local/faults.ts';
import { UNHEARD_OF_CODE } from '../../../infra/local/platforms/simulated-server.ts';

/** Return codes which do not say whether the command was carried out. */
const UNDECIDED = [2, 7, 9, 14, 16, 17, UNHEARD_OF_CODE];

/** Counts the commands that pay, beside those that the server refuses for certain: these may be sent again. */
export class Payments {
  readonly #byLogin = new Map<number, number>();
  /** Ends the counting. */
  readonly stop: () => void;

  constructor(listen: (listener: (call: IncomingCall) => void) => () => void) {
    this.stop = listen(({ name, parameters, fault }) => {
      if (name !== '/api/trade/balance' || parameters?.Login === undefined) return;
      const { kind, code = 2 } = fault ?? {};
      const isRefused = kind === 'throttled' || kind === 'refused' || (kind === 'retcode' && !UNDECIDED.includes(code));
      if (isRefused) return;
      const login = Number(parameters.Login);
      this.#byLogin.set(login, this.of(login) + 1);
    });
  }

  of(login: number): number {
    return this.#byLogin.get(login) ?? 0;
  }
}
