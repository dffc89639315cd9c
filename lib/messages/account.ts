import type { PlatformVersion } from '../validators/trading-account.ts';
import type { Brand } from './brand.ts';
import { type Language, pickLanguage } from './language.ts';
import { framedMail, isolated, type Mail, rich } from './mail-frame.ts';
import { ACCOUNT_WORDS, fill } from './words.ts';

/** What a client may be told of an account; there is no place for a password. */
export interface AccountFacts {
  login: number;
  version: PlatformVersion;
  group?: string | undefined;
  /** As in 1:leverage. */
  leverage?: number | undefined;
  /** True: trading is disabled. */
  readonly?: boolean | undefined;
  demo?: boolean | undefined;
  /** The connection, as people call it. */
  serverName?: string | undefined;
}

/** The mail to a client whose trading account was opened. */
export function accountMail(account: AccountFacts, language: string | undefined, brand: Brand): Mail {
  const picked = pickLanguage(language);
  const words = ACCOUNT_WORDS[picked];
  const login = String(account.login);
  const intro = rich(account.demo ? words.demoIntro : words.intro, { brand: isolated(brand.name, picked) });
  const rows = [
    { label: words.login, value: login },
    { label: words.version, value: account.version.slice(-1) },
    { label: words.server, value: account.serverName },
    { label: words.group, value: account.group },
    { label: words.leverage, value: account.leverage === undefined ? undefined : `1:${account.leverage}` },
  ];
  return framedMail({
    language: picked,
    brand,
    subject: fill(words.subject, { brand: brand.name, login }),
    preheader: fill(words.popUp, { login }),
    blocks: [
      { kind: 'heading', words: account.demo ? words.demoHeading : words.heading },
      { kind: 'paragraph', words: intro },
      { kind: 'rows', rows: rows.flatMap(({ label, value }) => (value === undefined ? [] : [{ label, value }])) },
      ...(account.readonly ? [{ kind: 'paragraph' as const, words: rich(words.readonly) }] : []),
      { kind: 'paragraph', words: rich(words.passwords) },
      { kind: 'note', words: rich(words.notYou) },
    ],
  });
}

/** The popup inside the client's own area, which says whose it is: hence no brand. */
export function accountPopUp(
  account: AccountFacts,
  language: string | undefined,
): { title: string; text: string; language: Language } {
  const picked = pickLanguage(language);
  const words = ACCOUNT_WORDS[picked];
  const opened = fill(words.popUp, { login: String(account.login) });
  return {
    title: account.demo ? words.demoHeading : words.heading,
    text: account.readonly ? `${opened} ${words.readonly}` : opened,
    language: picked,
  };
}
