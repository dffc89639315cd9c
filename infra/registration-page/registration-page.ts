import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Command, Option } from 'commander';
import { CAPTCHA_PROVIDER_NAMES, type CaptchaProvider } from '../../lib/validators/registration-settings.ts';
import { outliveReader } from '../closed-output.ts';
import { CommandError, runProgram } from '../ops/command.ts';
import { formJsonSchema, readForm } from '../ops/form.ts';
import { LOCAL_URL, openTarget, type WrittenTarget } from '../ops/target.ts';
import { linePrinter } from '../ops/terminal.ts';
import { copiedFiles, formFile, ownFiles, type PageOptions, versionFile } from './files.ts';
import { contradictions } from './kept-files.ts';

interface Options extends WrittenTarget {
  api: string;
  form: string;
  brand?: string;
  captcha?: CaptchaProvider;
  sitekey?: string;
}

const LOCAL_API = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

/**
 * Writes the registration page of a form into a folder, which any web server can serve. The files for the broker to
 * edit are written once; all other files are replaced.
 * @returns the exit code
 */
export async function runRegistrationPage(
  args: readonly string[],
  terminal: { print(text: string): void; report(text: string): void; folder: string },
): Promise<number> {
  const command = new Command('npm run registration-page --')
    .description('Writes a registration page: a folder of plain files for any web server.')
    .argument('<folder>', 'the folder; config.js and index.html in it are kept, if they agree with the options')
    .requiredOption('--api <url>', 'the base URL of the API')
    .requiredOption('--form <id>', 'the form, from the records of --local (the default for a local API) or of --stack')
    .option('--stack <name>', 'the records of a deployed stack')
    .option('--table <name>', 'the records of a table')
    .addOption(new Option('--local [url]', 'the records of the local service').preset(LOCAL_URL))
    .option('--brand <name>', "the name in the title of the browser's tab")
    .addOption(new Option('--captcha <provider>', 'the captcha of the deployment').choices(CAPTCHA_PROVIDER_NAMES))
    .option('--sitekey <key>', "the captcha's public key")
    .configureHelp({ helpWidth: 120 })
    .configureOutput({ writeOut: terminal.print, writeErr: terminal.report })
    .exitOverride()
    .action(async (folder: string, options: Options) => {
      const page = await pageOptions(options);
      terminal.print(await writePage(resolve(terminal.folder, folder), page));
    });
  return runProgram(command, args, { report: linePrinter(terminal.report) });
}

async function pageOptions({ form: id, brand, captcha, sitekey, ...given }: Options): Promise<PageOptions> {
  const api = given.api.replace(/\/+$/, '');
  if (!/^https?:$/.test(URL.canParse(api) ? new URL(api).protocol : ''))
    throw new CommandError(`${given.api} is no address of an API, such as https://api.acme.example.`, 2);
  if ((captcha === undefined) !== (sitekey === undefined))
    throw new CommandError('--captcha and --sitekey need each other.', 2);
  const { stack, table, local } = given;
  const named = [stack, table, local].some((one) => one !== undefined);
  const target = await openTarget(
    !named && LOCAL_API.test(api)
      ? { local: api }
      : { ...(stack && { stack }), ...(table && { table }), ...(local && { local }) },
  );
  try {
    const form = await readForm(target.table, id);
    if (form === undefined) throw new CommandError(`There is no form ${id} in ${target.name}.`);
    const widget = captcha && sitekey ? { name: captcha, sitekey } : undefined;
    return { api, form: formJsonSchema(form), brand, captcha: widget };
  } finally {
    target.database.destroy();
  }
}

/**
 * @returns what was written, in words
 * @throws CommandError if a kept file contradicts an option: nothing is written
 */
async function writePage(folder: string, page: PageOptions): Promise<string> {
  const brokerFiles = ownFiles(page);
  const kept = Object.keys(brokerFiles).filter((name) => existsSync(join(folder, name)));
  const keptTexts = kept.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const);
  const faults = contradictions(page, Object.fromEntries(await Promise.all(keptTexts)));
  if (faults.length > 0)
    throw new CommandError([
      'Nothing was written, because files that are kept differ from the options:',
      ...faults,
      'Change these lines, name another folder, or delete the files to get new ones.',
    ]);
  const texts: [string, string | Buffer][] = [
    ...Object.entries(brokerFiles).filter(([name]) => !kept.includes(name)),
    ['form.js', formFile(page.form)],
    ['version.js', versionFile()],
  ];
  for (const [name, url] of copiedFiles()) texts.push([name, await readFile(url)]);
  for (const [name, text] of texts) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  const left = kept.length === 0 ? '' : `Kept, because they are yours: ${kept.join(', ')}.\n`;
  return `${texts.length} files written to ${folder}.\n${left}Serve the folder, and allow its origin to call the API (setting allowedOrigins).\n`;
}

if (import.meta.main) {
  outliveReader();
  process.exitCode = await runRegistrationPage(process.argv.slice(2), {
    print: (text) => process.stdout.write(text),
    report: (text) => process.stderr.write(text),
    // npm changes to the project's directory.
    folder: process.env.INIT_CWD ?? '.',
  });
}
