import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import { runRegistrationPage } from '../../../infra/registration-page/registration-page.ts';

let service: LocalService;
let folder: string;
const output: string[] = [];
const say = (text: string) => void output.push(text);
const write = (...args: string[]) => runRegistrationPage(args, { print: say, report: say, folder: '/' });

beforeAll(async () => {
  service = await startService();
  folder = await mkdtemp(join(tmpdir(), 'registration-page-'));
  expect(await write(folder, '--api', service.url, '--form', 'FORM0002', '--brand', "Ann's <Broker>")).toBe(0);
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true });
});

describe('npm run registration-page', () => {
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
    await writeFile(join(folder, 'words/nl.js'), "export const words = { texts: { register: 'Registreren' } };\n");
    const { loadWords } = (await import(
      join(folder, 'words.js')
    )) as typeof import('../../../infra/registration-page/page/words.js');
    expect(await loadWords(['nl-BE', 'de'])).toMatchObject({
      language: 'nl',
      words: { texts: { register: 'Registreren', confirm: 'Confirm' }, labels: { email: 'Email' } },
    });
  });

  it('styles nothing outside of its element', async () => {
    const css = (await readFile(join(folder, 'register.css'), 'utf8')).replaceAll(/\/\*[\s\S]*?\*\//g, '');
    expect(css.match(/^\S.*\{/gm)).toEqual(['.registration {']);
  });
});
