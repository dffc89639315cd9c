import { readdirSync } from 'node:fs';
import type { CaptchaProvider } from '../../lib/config/registration-settings.ts';
import type { FormJsonSchema } from '../ops/form.ts';

const PAGE = new URL('./page/', import.meta.url);

/** The libraries of the page, and their licenses. */
const VENDORS = { preact: 'preact.js', htm: 'htm.js' } as const;

/**
 * The files that every copy has, by their names in its folder. The files of `vendor/` come from the installed packages.
 */
export function copiedFiles(): Map<string, URL> {
  const ours = readdirSync(PAGE, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => /\.(js|css|html)$|^LICENSE$/.test(name));
  const vendors = Object.entries(VENDORS).flatMap(([name, file]) => {
    const module = new URL(import.meta.resolve(name));
    return [
      [`vendor/${file}`, module],
      [`vendor/LICENSE-${name}`, new URL('../LICENSE', module)],
    ] as const;
  });
  return new Map([...ours.sort().map((name) => [name, new URL(name, PAGE)] as const), ...vendors]);
}

/** The options that differ from page to page. */
export interface PageOptions {
  /** The base URL of the API, without a slash at its end. */
  api: string;
  form: FormJsonSchema;
  brand?: string | undefined;
  captcha?: { name: CaptchaProvider; sitekey: string } | undefined;
}

/** The form of the records as a module, so that the page needs no request for it. */
export function formFile(form: FormJsonSchema): string {
  return `export default ${JSON.stringify(form, null, 2)};\n`;
}

/** The settings of a page, for the broker to edit. */
export function configFile({ api, brand, captcha }: Omit<PageOptions, 'form'>): string {
  const lines = [
    `  // The base URL of the API.\n  api: ${quoted(api)},`,
    '  form,',
    `  // For the title of the browser's tab, and the logo.\n  ${brand === undefined ? "// brand: 'Acme'," : `brand: ${quoted(brand)},`}`,
    "  // A picture above the form.\n  // logo: 'logo.svg',",
    "  // 'light', 'dark' or 'both'. Absent: as the page around it.\n  // theme: 'both',",
    '  // The level of the heading, in a page of yours.\n  // headingLevel: 2,',
    "  // Of the page and of the message. Absent: the browser's. A file in words/ adds a language.\n  // language: 'de',",
    "  // The countries that lists show first.\n  // countries: ['GB', 'DE'],",
    "  // Fields, and the parameters of the page's link that fill them in.\n  fromLink: { email: 'email', referrer_id: 'ref' },",
    "  // The channels of the deployment. Absent: all.\n  // channels: ['email', 'sms'],",
    captcha && `  captcha: ${captcha.name}(${quoted(captcha.sitekey)}),`,
    "  // Where a client logs in.\n  // login: 'https://www.acme.example/login',",
    "  // The page to continue with after the registration, and what happens next. A text, or one for each language.\n  // afterwards: 'https://www.acme.example/welcome',\n  // next: { en: 'We open your account within a day.' },",
    '  // Hears each step, for analytics: { from, event, to, says }. It gets nothing that a person typed.\n  // onStep: (step) => {},',
  ].filter(Boolean);
  const imports = captcha === undefined ? '' : `import { ${captcha.name} } from './captcha.js';\n`;
  return `${imports}import form from './form.js';\n\n/** The settings of this page. It is yours: no update overwrites it. */\nexport default {\n${lines.join('\n')}\n};\n`;
}

function quoted(text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}
