import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { localSettings } from '../../../infra/local/local-settings.ts';
import { deployedChannels } from '../../../lib/registration/dependencies.ts';
import { OTP_TYPES } from '../../../lib/validators/otp-types.ts';
import { DEPLOYED } from '../../support/function-environment.ts';

const CONFIG = { ...DEPLOYED, ...localSettings(), brand: DEPLOYED.brand };

describe('The channels of a deployment', () => {
  it.each(OTP_TYPES)('are opened once: %s', async (name) => {
    const channel = deployedChannels(CONFIG, async () => '');
    expect(await channel(name)).toHaveProperty('send');
    expect(channel(name)).toBe(channel(name));
  });

  it('load at start no SDK client', () => {
    const script = `
      import { registerHooks } from 'node:module';
      const loaded = new Set();
      registerHooks({ load(url, context, next) {
        const client = /@aws-sdk\\/(client-(?!dynamodb|secrets)[a-z0-9-]+)\\//.exec(url)?.[1];
        if (client !== undefined) loaded.add(client);
        return next(url, context);
      } });
      const { deployedChannels } = await import('./lib/registration/dependencies.ts');
      const channel = deployedChannels(${JSON.stringify(CONFIG)});
      const atStart = [...loaded];
      await channel('call');
      console.log(JSON.stringify({ atStart, afterCall: [...loaded] }));`;
    const root = fileURLToPath(new URL('../../..', import.meta.url));
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(JSON.parse(output)).toEqual({
      atStart: [],
      afterCall: ['client-pinpoint-sms-voice-v2'],
    });
  });
});
