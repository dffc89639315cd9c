import { readFile, writeFile } from 'node:fs/promises';
import { markdownTable } from '../openapi/json.ts';
import { TRANSITIONS } from './page/machine.js';
import type { RequestEnd, State, Step } from './page/types.ts';
import { words } from './page/words/en.js';

/** The ends of a request in the words of the guide. */
const MEANINGS: Record<RequestEnd, string> = {
  accepted: '204',
  invalid: '400 with `errors`',
  form_gone: '400 `form_not_found`',
  code_refused: '400 `code_not_accepted`',
  already_registered: '409 `already_registered`',
  captcha_failed: '403 `captcha_failed`',
  in_progress: '409 `request_in_progress`',
  key_reused: '422 `idempotency_key_reused`',
  too_large: '413',
  too_many: '429',
  undelivered: '502 `otp_delivery_failed`',
  failed: '500, 503, and 502 of others',
  silent: 'no answer',
  unreadable: 'an answer that is none of the API, such as a firewall’s',
};

const PLACES: Record<State, string> = {
  form: 'the form',
  sending: 'waits',
  code: 'the code',
  resending: 'waits',
  confirming: 'waits',
  client: 'the way to log in',
  done: 'the end',
};

/** The ends that a page can meet at each operation. */
const CONFIRMING: readonly RequestEnd[] = [
  'accepted',
  'invalid',
  'code_refused',
  'already_registered',
  'too_many',
  'failed',
  'silent',
  'unreadable',
];
const REGISTERING = (Object.keys(MEANINGS) as RequestEnd[]).filter(
  (end) => end !== 'code_refused' && end !== 'already_registered',
);

/** The tables of the guide, from the state machine of the page: the sentence for the person, and the next state. */
function guideTables(): { registering: string; confirming: string } {
  const says = ({ says, to }: Step) => {
    if (to === 'client') return words.texts.client_text;
    return says === undefined ? '' : words.sentences[says].replace('{time}', '45 seconds');
  };
  const row = (state: 'sending' | 'resending' | 'confirming', end: RequestEnd) => {
    const step = TRANSITIONS[state][end];
    const key = step.key === 'new' ? 'a new one' : 'the same';
    return { place: PLACES[step.to], says: says(step), key };
  };
  const registering = REGISTERING.map((end) => {
    const [first, again] = [row('sending', end), row('resending', end)];
    const places = first.place === again.place ? first.place : `${first.place}; ${again.place} if it was another code`;
    return [MEANINGS[end], first.says, places, first.key];
  });
  const confirming = CONFIRMING.map((end) => {
    const { says, place } = row('confirming', end);
    return [MEANINGS[end], says, place];
  });
  return {
    registering: markdownTable(['answer', 'the page says', 'then', 'next key'], registering),
    confirming: markdownTable(['answer', 'the page says', 'then'], confirming),
  };
}

const GUIDE = new URL('../docs/registration-page.md', import.meta.url);

/** The guide with newly generated tables. */
export function guideWithTables(text: string): string {
  return Object.entries(guideTables()).reduce(
    (page, [name, table]) =>
      page.replace(
        new RegExp(`(<!-- ${name} -->\\n)[^]*?(<!-- end -->)`),
        (_, begin, end) => `${begin}${table}\n${end}`,
      ),
    text,
  );
}

if (import.meta.main) await writeFile(GUIDE, guideWithTables(await readFile(GUIDE, 'utf8')));
