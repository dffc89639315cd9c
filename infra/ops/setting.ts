import { readFileSync, writeFileSync } from 'node:fs';
import { outliveReader } from '../closed-output.ts';
import { parseText } from '../setting-texts.ts';
import {
  gatherSettings,
  readSettings,
  SETTING_NAME,
  SETTING_NAMES,
  SettingsError,
  SettingsSchema,
} from '../settings.ts';
import { CDK_JSON } from './service-secrets.ts';

const USAGE = `npm run setting                                          shows the settings of cdk.json
npm run setting -- senderAddress=no-reply@acme.example channels=email,sms phone.countries=GB,DE
npm run setting -- sms.senderId=                         removes one, or a whole group

Writes settings into cdk.json, where cdk reads them. Nothing is written if a setting is not valid.
`;

/**
 * Changes the settings in `cdk.json`, or shows them without arguments.
 * @param args such as `sms.senderId=ACME`
 * @returns the exit code and the output
 */
export function changeSettings(args: readonly string[], file: string): { code: 0 | 1 | 2; text: string } {
  const cdk = JSON.parse(readFileSync(file, 'utf8')) as { context?: Record<string, unknown> };
  const { context = {} } = cdk;
  if (args.length === 0) return { code: 0, text: shown(context) };
  const changes = args.map((arg) => /^([\w.]+)=(.*)$/s.exec(arg));
  if (changes.includes(null)) return { code: 2, text: USAGE };
  const named = Object.fromEntries(changes.map((match) => [match?.[1] ?? '', match?.[2] ?? '']));
  try {
    const changed = changedContext(context, named);
    writeFileSync(file, `${formatJson({ ...cdk, context: changed })}\n`);
    return { code: 0, text: shown(changed) };
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return { code: 1, text: `${error.message}\nNothing is written.\n` };
  }
}

/**
 * A context with some settings changed, each given as a text by its full name; an empty text removes a setting or a
 * whole group. The settings of CDK do not change.
 * @throws SettingsError with every error of the changed settings
 */
function changedContext(
  context: Record<string, unknown>,
  changes: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const ofCdk = Object.entries(context).filter(([name]) => !SETTING_NAME.test(name));
  const given = gatherSettings({ ...gatherSettings(context), ...changes });
  const settings = parseText(SettingsSchema, given) as Record<string, unknown>;
  readSettings(settings);
  return { ...Object.fromEntries(ofCdk), ...settings };
}

/** The settings as `cdk.json` has them, without those of CDK. */
function shown(context: Record<string, unknown>): string {
  const groups = new Set(SETTING_NAMES.map((name) => name.split('.')[0]));
  const settings = Object.fromEntries(Object.entries(context).filter(([name]) => groups.has(name.split('.')[0])));
  return Object.keys(settings).length === 0 ? `No setting is given yet.\n\n${USAGE}` : `${formatJson(settings)}\n`;
}

/** The value as JSON in the project's format, with a list on one line. */
function formatJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll(/\[\s+([^[\]{}]*?)\s+\]/g, (_, items: string) => {
    return `[${items.replaceAll(/\s*\n\s*/g, ' ')}]`;
  });
}

if (import.meta.main) {
  outliveReader();
  const { code, text } = changeSettings(process.argv.slice(2), CDK_JSON);
  (code === 0 ? process.stdout : process.stderr).write(text);
  process.exitCode = code;
}
