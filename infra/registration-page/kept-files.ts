import type { CaptchaProvider } from '../../lib/validators/registration-settings.ts';
import { neededSources, type PageOptions } from './files.ts';

/**
 * Finds where kept files contradict the given options: an option that does nothing is an error. The title of
 * `index.html` is not compared, because the script replaces it.
 * @param kept the files' texts, by their names
 * @returns a sentence for each place, with its file and line
 */
export function contradictions({ api, brand, captcha }: PageOptions, kept: Record<string, string>): string[] {
  const { 'config.js': config, 'index.html': index } = kept;
  const inConfig = config === undefined ? [] : configFaults(config, { api, brand, captcha });
  return [...inConfig, ...(index === undefined ? [] : policyFaults(index, api, captcha?.name))];
}

/**
 * The members of `config.js` that are written with another text, or not at all. A computed value cannot be compared.
 */
function configFaults(config: string, { api, brand, captcha }: Omit<PageOptions, 'form'>): string[] {
  const wanted = { api, brand, captcha: captcha && `${captcha.name}('${captcha.sitekey}')` };
  const lines = config.split('\n').map((line) => (/^\s*(\/\/|\/?\*)/.test(line) ? '' : line));
  return Object.entries(wanted).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const at = lines.findIndex((line) => new RegExp(`\\b${name}\\b`).test(line) && !/^import\b/.test(line));
    if (at === -1) return name === 'api' ? [] : [`config.js: ${name} is absent, not ${value}.`];
    const text = /(\w+\()?(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")/;
    const found = new RegExp(`\\b${name}\\s*:\\s*${text.source}`).exec(lines[at] ?? '');
    if (found === null) return [];
    const [, call, single, double] = found;
    const literal = (single ?? double ?? '').replaceAll(/\\(.)/g, '$1');
    const written = call === undefined ? literal : `${call}'${literal}')`;
    return written === value ? [] : [`config.js, line ${at + 1}: ${name} is ${written}, not ${value}.`];
  });
}

/** The origins that the policy in `index.html` would block. A page without a policy has it elsewhere, or none. */
function policyFaults(index: string, api: string, captcha: CaptchaProvider | undefined): string[] {
  const html = index.replaceAll(/<!--[\s\S]*?-->/g, (comment) => comment.replaceAll(/[^\n]/g, ' '));
  const found = /content="([^"]*-src\b[^"]*)"/.exec(html);
  if (found === null) return [];
  const [, policy = ''] = found;
  const place = (directive: string) => {
    const before = html.slice(0, found.index + Math.max(0, found[0].indexOf(directive)));
    return `index.html, line ${before.split('\n').length}: ${directive}`;
  };
  const directives = new Map(
    policy.split(';').map((directive) => {
      const [name = '', ...sources] = directive.trim().split(/\s+/);
      return [name, sources] as const;
    }),
  );
  const faults = Object.entries(neededSources(api, captcha)).flatMap(([name, sources]) => {
    const directive = [`${name}-src`, 'default-src'].find((one) => directives.has(one));
    const allowed = directive === undefined ? ['*'] : (directives.get(directive) ?? []);
    const lacking = sources.filter((source) => !allowed.includes('*') && !allowed.includes(source));
    const says = directive === 'default-src' ? `has no ${name}-src with` : `is ${allowed.join(' ')}, without`;
    return lacking.length === 0 ? [] : [`${place(directive ?? '')} ${says} ${lacking.join(' ')}.`];
  });
  const isStrict = captcha !== undefined && directives.has('require-trusted-types-for');
  return isStrict ? [...faults, `${place('require-trusted-types-for')} must go, for ${captcha}.`] : faults;
}
