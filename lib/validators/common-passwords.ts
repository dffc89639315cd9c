import { once } from '../once.ts';

/** No entry of the list is longer. */
const MAX_LENGTH = 20;

/** Large, so loaded on first use. */
const list = once(async (): Promise<readonly string[]> => {
  return (await import('@zxcvbn-ts/language-common/src/passwords.json', { with: { type: 'json' } })).default;
});

/** Whether many people use this password, in any case of its letters. */
export async function isCommonPassword(password: string): Promise<boolean> {
  if (password.length > MAX_LENGTH) return false;
  return (await list()).includes(password.toLowerCase());
}
