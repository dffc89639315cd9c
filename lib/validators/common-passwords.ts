/** No entry of the list is longer. */
const MAX_LENGTH = 20;

let list: Promise<readonly string[]> | undefined;

/** Whether many people use this password, in any case of its letters. The list is large, and loaded on first use. */
export async function isCommonPassword(password: string): Promise<boolean> {
  if (password.length > MAX_LENGTH) return false;
  list ??= import('@zxcvbn-ts/language-common/src/passwords.json', { with: { type: 'json' } }).then(
    ({ default: passwords }) => passwords,
  );
  return (await list).includes(password.toLowerCase());
}
