import { existsSync } from 'node:fs';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Command, Option } from 'commander';
import { CAPTCHA_PROVIDER_NAMES, type CaptchaProvider } from '../../lib/config/registration-settings.ts';
import { outliveReader } from '../closed-output.ts';
import { CommandError, runProgram } from '../ops/command.ts';
import { formJsonSchema, readForm } from '../ops/form.ts';
import { LOCAL_URL, openTarget, type WrittenTarget } from '../ops/target.ts';
import { linePrinter } from '../ops/terminal.ts';
import { configFile, copiedFiles, formFile, type PageOptions } from './files.ts';

interface Options extends WrittenTarget {
  api: string;
  form: string;
  brand?: string;
  captcha?: CaptchaProvider;
  sitekey?: string;
}

const LOCAL_API = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;
/** The files for the broker to edit. */
const BROKER_FILES = ['config.js', 'index.html'];
/** Files that every version of the page has. */
const MARKS = ['machine.js', 'register.css', 'register.js'];

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
    .argument('<folder>', 'the folder: a new one, or a page to update, whose config.js and index.html stay')
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
  if (!LOCAL_API.test(api) && !(URL.canParse(api) && new URL(api).protocol === 'https:'))
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
 * @throws CommandError if the folder has files of these names that are no registration page: nothing is written
 */
async function writePage(folder: string, page: PageOptions): Promise<string> {
  const copied = copiedFiles();
  const there = [...copied.keys(), 'config.js', 'form.js'].filter((name) => existsSync(join(folder, name)));
  if (there.length > 0 && !MARKS.every((name) => there.includes(name)))
    throw new CommandError(
      `${folder} has files that are no registration page: ${there.join(', ')}. Name a new folder.`,
    );
  const kept = BROKER_FILES.filter((name) => there.includes(name));
  for (const [name, file] of copied) {
    if (kept.includes(name)) continue;
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await copyFile(file, join(folder, name));
  }
  await writeFile(join(folder, 'form.js'), formFile(page.form));
  if (!kept.includes('config.js')) await writeFile(join(folder, 'config.js'), configFile(page));
  const left = kept.length === 0 ? '' : `Kept as they are, because they are yours: ${kept.join(', ')}.\n`;
  return `The page is in ${folder}.\n${left}Serve the folder, and allow its origin to call the API (setting allowedOrigins).\n`;
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
