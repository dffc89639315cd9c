import { readdirSync } from 'node:fs';
import type { CaptchaProvider } from '../../lib/validators/registration-settings.ts';
import packageFile from '../../package.json' with { type: 'json' };
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
    .filter((name) => /\.(js|css)$|^LICENSE$/.test(name));
  const vendors = Object.entries(VENDORS).flatMap(([name, file]) => {
    const module = new URL(import.meta.resolve(name));
    return [
      [`vendor/${file}`, module],
      [`vendor/LICENSE-${name}`, new URL('../LICENSE', module)],
    ] as const;
  });
  return new Map([...ours.sort().map((name) => [name, new URL(name, PAGE)] as const), ...vendors]);
}

/** The file that names the version, in copies and in the local service. */
export function versionFile(): string {
  return `// SPDX-License-Identifier: 0BSD\nexport const VERSION = '${packageFile.version}';\n`;
}

/** The origins that a captcha's provider needs, by the directives of a policy. */
const CAPTCHAS = {
  turnstile: { script: ['https://challenges.cloudflare.com'], frame: ['https://challenges.cloudflare.com'] },
  hcaptcha: {
    script: ['https://hcaptcha.com', 'https://*.hcaptcha.com'],
    frame: ['https://hcaptcha.com', 'https://*.hcaptcha.com'],
    style: ['https://hcaptcha.com', 'https://*.hcaptcha.com'],
    connect: ['https://hcaptcha.com', 'https://*.hcaptcha.com'],
  },
  recaptcha: {
    script: ['https://www.google.com/recaptcha/', 'https://www.gstatic.com/recaptcha/'],
    frame: ['https://www.google.com/recaptcha/', 'https://recaptcha.google.com/recaptcha/'],
  },
} as const satisfies Record<
  CaptchaProvider,
  Partial<Record<'script' | 'frame' | 'style' | 'connect', readonly string[]>>
>;

/** The options that differ from page to page. */
export interface PageOptions {
  /** The base URL of the API, without a slash at its end. */
  api: string;
  form: FormJsonSchema;
  brand?: string | undefined;
  captcha?: { name: CaptchaProvider; sitekey: string } | undefined;
}

/** The files that a broker edits: they are written once. */
export function ownFiles({ api, brand, captcha }: PageOptions): Record<string, string> {
  return { 'config.js': configFile({ api, brand, captcha }), 'index.html': indexFile(api, brand, captcha?.name) };
}

/** The form of the records as a module, so that the page needs no request for it. */
export function formFile(form: FormJsonSchema): string {
  return `export default ${JSON.stringify(form, null, 2)};\n`;
}

function configFile({ api, brand, captcha }: Omit<PageOptions, 'form'>): string {
  const lines = [
    `  // The base URL of the API.\n  api: ${quoted(api)},`,
    '  form,',
    `  // For the title of the browser's tab.\n  ${brand === undefined ? "// brand: 'Acme'" : `brand: ${quoted(brand)}`},`,
    "  // Absent: the languages of the browser. A file in words/ adds a language.\n  // language: 'de',",
    "  // Fields, and the parameters of the page's link that fill them in.\n  fromLink: { email: 'email', referrer_id: 'ref' },",
    "  // The channels of the deployment. Absent: all.\n  // channels: ['email', 'sms'],",
    captcha && `  captcha: ${captcha.name}(${quoted(captcha.sitekey)}),`,
    "  // The page to continue with after the registration.\n  // afterwards: 'https://www.acme.example/login',",
    '  // Hears each step, for analytics: { from, event, to, says }. It gets nothing that a person typed.\n  // onStep: (step) => {},',
  ].filter(Boolean);
  const imports = captcha === undefined ? '' : `import { ${captcha.name} } from './captcha.js';\n`;
  return `${imports}import form from './form.js';\n\n/** The settings of this page. It is yours: no update overwrites it. */\nexport default {\n${lines.join('\n')}\n};\n`;
}

function indexFile(api: string, brand: string | undefined, captcha: CaptchaProvider | undefined): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${pagePolicy(api, captcha)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${escapeHtml(brand ?? 'Registration')}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="register.css">
<script type="module" src="index.js"></script>
</head>
<body>
<main id="registration"></main>
<noscript>This page needs JavaScript.</noscript>
</body>
</html>
`;
}

/** The origins that the page needs besides its own, by the directives of its policy. */
export function neededSources(api: string, captcha: CaptchaProvider | undefined): Record<string, readonly string[]> {
  const more: Partial<Record<string, readonly string[]>> = captcha === undefined ? {} : CAPTCHAS[captcha];
  return { ...more, connect: [new URL(api).origin, ...(more.connect ?? [])] };
}

/** The policy of the page: its own files, the API, and a captcha's provider, whose scripts need no trusted types. */
function pagePolicy(api: string, captcha: CaptchaProvider | undefined): string {
  const needed = neededSources(api, captcha);
  const directive = (name: string, ...fixedSources: string[]) =>
    [`${name}-src`, ...fixedSources, ...(needed[name] ?? [])].join(' ');
  return [
    "default-src 'none'",
    directive('script', "'self'"),
    directive('style', "'self'"),
    directive('connect'),
    'img-src data:',
    ...(captcha === undefined ? ["require-trusted-types-for 'script'", "trusted-types 'none'"] : [directive('frame')]),
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}

function quoted(text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
