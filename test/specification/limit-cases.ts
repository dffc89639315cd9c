import { bodyOf } from './caller.ts';
import { type Case, keeps } from './cases.ts';
import { openAccount, register } from './promises.ts';
import { VERSIONS } from './table.ts';
import type { Section } from './walk.ts';

const OF_SIZES: readonly Case[] = [
  ...VERSIONS.map((operation) =>
    keeps(
      '8 size limits',
      `decided: a ${operation} account of 64 KB`,
      'a body of 65,536 bytes is accepted',
      (world) => {
        const body = bodyOf({ operation });
        return openAccount(world, { operation, body }, { raw: JSON.stringify(body).padEnd(65_536) });
      },
    ),
  ),
  keeps('8 size limits', 'decided: a registration of 5.9 MB', 'a body of 5,900,000 bytes is accepted', (world) => {
    const operation = 'registration';
    const body = bodyOf({ operation });
    return register(world, { operation, body }, { raw: JSON.stringify(body).padEnd(5_900_000) });
  }),
];

export const LIMIT_SECTIONS: readonly Section[] = [{ title: '8: the sizes of bodies', cases: OF_SIZES }];
