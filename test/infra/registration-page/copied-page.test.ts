import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import * as widgets from '../../../infra/registration-page/page/captcha.js';
import { runRegistrationPage } from '../../../infra/registration-page/registration-page.ts';
import { CAPTCHA_PROVIDER_NAMES } from '../../../lib/validators/registration-settings.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let service: LocalService;
const folder = temporaryFolder('registration-page');
const output: string[] = [];
const say = (text: string) => void output.push(text);
const write = (...args: string[]) => runRegistrationPage(args, { print: say, report: say, folder: '/' });

beforeAll(async () => {
  service = await startService();
  expect(await write(folder, '--api', service.url, '--form', 'FORM0002', '--brand', "Ann's <Broker>")).toBe(0);
});
afterAll(async () => {
  await service.close();
});

describe('npm run registration-page', () => {
  it('has a widget for each captcha that the API can verify', () => {
    expect(Object.keys(widgets).sort()).toEqual(CAPTCHA_PROVIDER_NAMES.toSorted());
  });

  it('writes plain files: ours free to copy, the libraries with their licenses', async () => {
    const names = (await readdir(folder, { recursive: true })).filter(
      (name) => name.includes('.') || /LICENSE/.test(name),
    );
    expect(names).toEqual(expect.arrayContaining(['index.html', 'config.js', 'form.js', 'version.js', 'LICENSE']));
    expect(names.filter((name) => name.startsWith('vendor/')).sort()).toEqual(
      ['LICENSE-htm', 'LICENSE-preact', 'htm.js', 'preact.js'].map((name) => `vendor/${name}`),
    );
    for (const name of names.filter((one) => /\.js$/.test(one) && !/^(vendor|config|form)/.test(one))) {
      const text = await readFile(join(folder, name), 'utf8');
      expect([name, text.split('\n')[0]]).toEqual([name, '// SPDX-License-Identifier: 0BSD']);
      expect([...text.matchAll(/from '([^']+)'/g)].filter(([, from = '']) => !from.startsWith('./'))).toEqual([]);
    }
  });

  it('keeps what a broker has edited, and says so', async () => {
    const config = join(folder, 'config.js');
    const before = await readFile(config, 'utf8');
    await writeFile(config, `${before}// mine\n`);
    expect(await write(folder, '--api', service.url, '--form', 'FORM0002')).toBe(0);
    expect(await readFile(config, 'utf8')).toContain('// mine');
    expect(output.at(-1)).toContain('Kept, because they are yours: config.js, index.html.');
  });

  /** A folder of the first options, and what the command says when it is called again with others. */
  async function again(first: string[], then: string[], edit = (text: string) => text): Promise<[number, string]> {
    const copy = temporaryFolder('registration-page');
    expect(await write(copy, '--form', 'FORM0002', '--local', service.url, ...first)).toBe(0);
    await writeFile(join(copy, 'form.js'), 'old');
    for (const name of ['config.js', 'index.html'])
      await writeFile(join(copy, name), edit(await readFile(join(copy, name), 'utf8')));
    const code = await write(copy, '--form', 'FORM0002', '--local', service.url, ...then);
    expect((await readFile(join(copy, 'form.js'), 'utf8')) === 'old').toBe(code === 1);
    return [code, String(output.at(-1))];
  }
  const HOST = 'http://localhost:3000';
  const ACME = 'https://api.acme.example';
  const TURNSTILE = ['--captcha', 'turnstile', '--sitekey', 'KEY'];

  it.each<[first: string[], then: string[], faults: string[]]>([
    [
      ['--api', HOST],
      ['--api', ACME],
      [
        `config.js, line 6: api is ${HOST}, not ${ACME}.`,
        `index.html, line 5: connect-src is ${HOST}, without ${ACME}.`,
      ],
    ],
    [['--api', ACME], ['--api', ACME, '--brand', 'Acme'], ['config.js: brand is absent, not Acme.']],
    [
      ['--api', ACME, '--brand', "Ann's"],
      ['--api', ACME, '--brand', 'Acme'],
      ["config.js, line 9: brand is Ann's, not Acme."],
    ],
    [
      ['--api', ACME],
      ['--api', ACME, ...TURNSTILE],
      [
        "config.js: captcha is absent, not turnstile('KEY').",
        "index.html, line 5: script-src is 'self', without https://challenges.cloudflare.com.",
        'index.html, line 5: default-src has no frame-src with https://challenges.cloudflare.com.',
        'index.html, line 5: require-trusted-types-for must go, for turnstile.',
      ],
    ],
    [
      ['--api', ACME, ...TURNSTILE],
      ['--api', ACME, '--captcha', 'turnstile', '--sitekey', 'OTHER'],
      ["config.js, line 17: captcha is turnstile('KEY'), not turnstile('OTHER')."],
    ],
  ])('writes nothing for options that the kept files contradict: %j, then %j', async (first, then, faults) => {
    const [code, text] = await again(first, then);
    expect([code, text.split('\n').slice(1, -2)]).toEqual([1, faults]);
  });

  it.each<[what: string, first: string[], then: string[], edit?: (text: string) => string]>([
    [
      'the same options',
      ['--api', ACME, '--brand', "Ann's", ...TURNSTILE],
      ['--api', ACME, '--brand', "Ann's", ...TURNSTILE],
    ],
    ['fewer options', ['--api', ACME, '--brand', 'Acme', ...TURNSTILE], ['--api', ACME]],
    [
      'a computed address, and no policy',
      ['--api', HOST],
      ['--api', ACME],
      (text) => text.replace(`'${HOST}'`, 'location.origin').replace(/<meta http-equiv.*>/, '<!-- $& -->'),
    ],
    [
      'other quotes, and more sources',
      ['--api', ACME],
      ['--api', ACME],
      (text) => text.replace(`'${ACME}'`, `"${ACME}"`).replace('connect-src', 'connect-src https://more.example'),
    ],
  ])('goes on with %s', async (_, first, then, edit) => {
    expect(await again(first, then, edit)).toEqual([0, expect.stringContaining('Kept')]);
  });

  it.each([
    [['--api', 'nothing', '--form', 'FORM0002'], 2, 'is no address of an API'],
    [['--api', 'https://api.acme.example', '--form', 'FORM0002'], 2, 'Say where the records are'],
    [['--form', 'FORM0002'], 2, '--api'],
    [['--api', 'URL', '--form', 'NONE0000'], 1, 'There is no form NONE0000'],
    [['--api', 'URL', '--form', 'FORM0002', '--captcha', 'turnstile'], 2, 'need each other'],
  ])('refuses %s', async (args, code, message) => {
    expect(await write('/nowhere', ...args.map((arg) => (arg === 'URL' ? service.url : arg)))).toBe(code);
    expect(output.at(-1) + String(output.at(-2))).toContain(message);
  });

  it('takes a language of the broker, in English where its file has no phrase', async () => {
    const words = "{ texts: { register: 'Registreren' }, channels: { call: 'Bellen' } }";
    await writeFile(join(folder, 'words/nl.js'), `export const words = ${words};\n`);
    const { loadWords } = (await import(
      join(folder, 'words.js')
    )) as typeof import('../../../infra/registration-page/page/words.js');
    expect(await loadWords(['nl-BE', 'de'])).toMatchObject({
      language: 'nl',
      words: {
        texts: { register: 'Registreren', confirm: 'Confirm' },
        labels: { email: 'Email' },
        channels: { email: 'Email', call: 'Bellen' },
      },
    });
  });

  it('styles nothing outside of its element', async () => {
    const css = (await readFile(join(folder, 'register.css'), 'utf8')).replaceAll(/\/\*[\s\S]*?\*\//g, '');
    expect(css.match(/^\S.*\{/gm)).toEqual(['.registration {']);
  });
});
