import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import * as widgets from '../../../infra/registration-page/page/captcha.js';
import { runRegistrationPage } from '../../../infra/registration-page/registration-page.ts';
import { CAPTCHA_PROVIDER_NAMES } from '../../../lib/config/registration-settings.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let service: LocalService;
const folder = temporaryFolder('registration-page');
const output: string[] = [];
const say = (text: string) => void output.push(text);
const write = (...args: string[]) => runRegistrationPage(args, { print: say, report: say, folder: '/' });

beforeAll(async () => {
  service = await startService();
  expect(await write(folder, '--api', service.url, '--form', 'FORM0002')).toBe(0);
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
    expect(names).toEqual(expect.arrayContaining(['index.html', 'config.js', 'form.js', 'LICENSE']));
    expect(names.filter((name) => name.startsWith('vendor/')).sort()).toEqual(
      ['LICENSE-htm', 'LICENSE-preact', 'htm.js', 'preact.js'].map((name) => `vendor/${name}`),
    );
    for (const name of names.filter((one) => /\.js$/.test(one) && !/^(vendor|config|form)/.test(one))) {
      const text = await readFile(join(folder, name), 'utf8');
      expect([name, text.split('\n')[0]]).toEqual([name, '// SPDX-License-Identifier: 0BSD']);
      expect([...text.matchAll(/from '([^']+)'/g)].filter(([, from = '']) => !from.startsWith('./'))).toEqual([]);
    }
  });

  it('updates a page, and keeps what a broker edits, whatever is in it', async () => {
    const copy = temporaryFolder('registration-page');
    const options = ['--api', service.url, '--form', 'FORM0002'];
    expect(await write(copy, ...options)).toBe(0);
    for (const name of ['config.js', 'index.html', 'form.js', 'view.js', 'mine.css'])
      await writeFile(join(copy, name), 'mine');
    expect(await write(copy, ...options)).toBe(0);
    expect(output.at(-1)).toContain('Kept as they are, because they are yours: config.js, index.html.');
    const left = await Promise.all((await readdir(copy)).map(async (name) => [name, await mine(join(copy, name))]));
    expect(left.filter(([, isMine]) => isMine).map(([name]) => name)).toEqual(['config.js', 'index.html', 'mine.css']);
  });
  const mine = async (path: string) => (await readFile(path, 'utf8').catch(() => '')) === 'mine';

  it('writes nothing into a folder of another page', async () => {
    const other = temporaryFolder('registration-page');
    await writeFile(join(other, 'index.html'), 'mine');
    expect(await write(other, '--api', service.url, '--form', 'FORM0002')).toBe(1);
    expect(output.at(-1)).toContain('has files that are no registration page: index.html.');
    expect(await readdir(other)).toEqual(['index.html']);
  });

  it('writes the options as the settings of the page, from which its policy follows', async () => {
    const copy = temporaryFolder('registration-page');
    const args = ['--api', 'https://api.acme.example/', '--form', 'FORM0002', '--local', service.url];
    expect(await write(copy, ...args, '--brand', "Ann's <Broker>", '--captcha', 'turnstile', '--sitekey', 'KEY')).toBe(
      0,
    );
    const { default: config } = await import(join(copy, 'config.js'));
    expect(config).toMatchObject({
      api: 'https://api.acme.example',
      brand: "Ann's <Broker>",
      form: { title: 'Short' },
    });
    const { pagePolicy } = (await import(
      join(copy, 'policy.js')
    )) as typeof import('../../../infra/registration-page/page/policy.js');
    const policy = pagePolicy(config, 'https://www.acme.example/');
    expect(policy).toContain("script-src 'self' https://challenges.cloudflare.com;");
    expect(policy).toContain('connect-src https://api.acme.example;');
    expect(policy).toContain('frame-src https://challenges.cloudflare.com;');
    expect(policy).not.toContain('trusted-types');
  });

  it.each([
    [['--api', 'nothing', '--form', 'FORM0002'], 2, 'is no address of an API'],
    [['--api', 'http://api.acme.example', '--form', 'FORM0002'], 2, 'is no address of an API'],
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
});
