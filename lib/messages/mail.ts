import type { Brand } from '../validators/deployment.ts';
import { asciiEmail } from '../validators/email.ts';
import { contrastingInk, rgbChannels } from './color.ts';
import { escapeMarkup } from './escape.ts';
import type { Mail } from './providers.ts';
import { fill, type Translation } from './translations/translation.ts';

export interface EmailSettings {
  /** An address that SES may send from. */
  senderAddress: string;
  configurationSet?: string | undefined;
}

/** The sender and reply address of every mail: the brand, and its support. */
export function mailSender(settings: EmailSettings, brand: Brand): Pick<Mail, 'from' | 'replyTo' | 'configurationSet'> {
  return {
    from: { name: brand.name, address: asciiEmail(settings.senderAddress) },
    replyTo: asciiEmail(brand.supportEmail),
    configurationSet: settings.configurationSet,
  };
}

/** The same content as plain text and as HTML, which needs no further escaping. */
interface Rich {
  text: string;
  html: string;
}

/** The content between header and footer, in this order, in both parts of the mail. */
type Block =
  | { kind: 'heading'; text: string }
  | { kind: 'paragraph'; content: Rich }
  | { kind: 'code'; code: string }
  | { kind: 'rows'; rows: { label: string; value: string }[] }
  | { kind: 'note'; heading?: string; content: Rich };

interface MailContent {
  translation: Translation;
  brand: Brand;
  subject: string;
  /** The preview next to the subject, also on a locked screen: never the code. */
  preheader: string;
  blocks: Block[];
}

export type FramedMail = Pick<Mail, 'subject' | 'text' | 'html'>;

/**
 * A value inside a sentence. In HTML, and in plain text from right to left, the text around it does not change its
 * direction.
 */
export function isolated(value: string, translation: Translation): Rich {
  return {
    text: translation.direction === 'rtl' ? `\u2068${value}\u2069` : value,
    html: `<bdi>${escapeMarkup(value)}</bdi>`,
  };
}

/** A phrase with its values, in both forms. Values given as text are ours and need no isolation. */
export function rich(phrase: string, values: Record<string, Rich | string> = {}): Rich {
  const entries = Object.entries(values);
  const pick = (form: 'text' | 'html', plain: (value: string) => string) =>
    Object.fromEntries(entries.map(([name, value]) => [name, typeof value === 'string' ? plain(value) : value[form]]));
  return {
    text: fill(
      phrase,
      pick('text', (value) => value),
    ),
    html: fill(escapeMarkup(phrase), pick('html', escapeMarkup)),
  };
}

/** The end of a mail. */
interface Closing {
  support: Rich;
  automatic: Rich;
  /** Absent if the brand has none. */
  legal: string | undefined;
}

/**
 * The frame of every mail: header in the brand's color, content, support address, footer. Tables and inline styles,
 * because mail programs know little else; a style element for dark mode. Only the brand's logo is loaded from
 * elsewhere.
 */
export function framedMail(content: MailContent): FramedMail {
  const { translation, brand, subject } = content;
  const closing: Closing = {
    // At the end of its line and without marks around it, so that it can be copied from plain text.
    support: rich(translation.footer.support, { email: addressLink(brand.supportEmail) }),
    automatic: rich(translation.footer.automatic, { brand: isolated(brand.name, translation) }),
    legal: legalText(brand, translation.language),
  };
  const text = [
    brand.name,
    ...content.blocks.map(blockText),
    closing.support.text,
    `--\n${closing.automatic.text}`,
    ...(closing.legal === undefined ? [] : [closing.legal]),
  ].join('\n\n');
  return { subject, text: `${text}\n`, html: renderHtml(content, closing) };
}

/** The legal text in the language of the mail, or else the English one. */
function legalText({ legal }: Brand, language: string): string | undefined {
  return typeof legal === 'string' ? legal : (legal?.[language] ?? legal?.en);
}

function addressLink(email: string): Rich {
  const address = escapeMarkup(email);
  const href = escapeMarkup(encodeURI(email));
  return {
    text: email,
    html: `<a class="ink" href="mailto:${href}" dir="ltr" style="color:#1c2430;text-decoration:underline"><bdi>${address}</bdi></a>`,
  };
}

function blockText(block: Block): string {
  switch (block.kind) {
    case 'heading':
      return block.text;
    case 'paragraph':
      return block.content.text;
    case 'code':
      return block.code;
    case 'rows':
      return block.rows.map(({ label, value }) => `${label}: ${value}`).join('\n');
    case 'note':
      return block.heading === undefined ? block.content.text : `${block.heading}\n${block.content.text}`;
  }
}

const FONT = "-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'Noto Sans',sans-serif";
const MONOSPACE = "ui-monospace,'SF Mono',Menlo,Consolas,'Liberation Mono',monospace";

/** Colors of text and surfaces in dark mode. The light ones are inline, for programs that drop style elements. */
const STYLE = `:root{color-scheme:light dark;supported-color-schemes:light dark}
a[x-apple-data-detectors]{color:inherit!important;text-decoration:none!important}
@media (max-width:480px){.pad{padding-left:20px!important;padding-right:20px!important}.page{padding:0!important}.card{border-radius:0!important;border-width:0!important}}
@media (prefers-color-scheme:dark){.page{background:#0f1318!important}.card{background:#1b212a!important;border-color:#2e3744!important}.ink{color:#eef1f5!important}.soft{color:#a9b3c0!important}.box{background:#262e3a!important;border-color:#3a4553!important}.line{border-color:#2e3744!important}}`;

function renderHtml(content: MailContent, closing: Closing): string {
  const { translation, brand } = content;
  const direction = translation.direction ?? 'ltr';
  // As rgb(), so that the mail has no six digits but those of the code.
  const color = `rgb(${rgbChannels(brand.color).join(',')})`;
  const ink = contrastingInk(brand.color);
  return `<!doctype html>
<html lang="${translation.language}" dir="${direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no,date=no,address=no,email=no">
<meta name="x-apple-disable-message-reformatting">
<title>${escapeMarkup(content.subject)}</title>
<style>${STYLE}</style>
</head>
<body class="page" style="margin:0;padding:0;background:#f1f4f8">
<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">${escapeMarkup(content.preheader)}${'&#847;&zwnj;&nbsp;'.repeat(90)}</div>
<table role="presentation" class="page" width="100%" cellpadding="0" cellspacing="0" border="0" style="background:#f1f4f8;padding:24px 12px" dir="${direction}"><tr><td align="center">
<!--[if mso]><table role="presentation" width="560" cellpadding="0" cellspacing="0"><tr><td><![endif]-->
<table role="presentation" class="card" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:560px;background:#fff;border:1px solid #d9e0e8;border-radius:12px;border-collapse:separate;overflow:hidden;font-family:${FONT};text-align:start;word-break:${translation.wordBreak ?? 'normal'}">
<tr><td class="pad" style="padding:20px 32px;background:${color};color:${ink};font-size:20px;line-height:1.3;font-weight:700">${brandMark(brand, ink)}</td></tr>
<tr><td class="pad" style="padding:32px 32px 8px">
${content.blocks.map(blockHtml).join('\n')}
</td></tr>
<tr><td class="pad" style="padding:0 32px 28px">
<div class="line ink" style="border-top:1px solid #e3e8ee;padding-top:20px;color:#1c2430;font-size:15px;line-height:1.55;overflow-wrap:anywhere">${closing.support.html}</div>
<div class="soft" style="padding-top:12px;color:#5b6777;font-size:13px;line-height:1.5">${closing.automatic.html}</div>${legalHtml(closing.legal)}
</td></tr>
</table>
<!--[if mso]></td></tr></table><![endif]-->
</td></tr></table>
</body>
</html>
`;
}

/** The logo, with its text in place of it until a mail program loads images; or the name. */
function brandMark({ name, logo }: Brand, ink: string): string {
  if (logo === undefined) return `<bdi>${escapeMarkup(name)}</bdi>`;
  const [url, alt] = [escapeMarkup(logo.url), escapeMarkup(logo.alt)];
  return `<img src="${url}" alt="${alt}" height="40" style="display:block;height:40px;width:auto;max-width:100%;border:0;color:${ink};font-size:20px;line-height:40px;font-weight:700">`;
}

/** In its own direction, because it may be in another language. */
function legalHtml(legal: string | undefined): string {
  if (legal === undefined) return '';
  const lines = escapeMarkup(legal).replaceAll('\n', '<br>');
  return `\n<div class="line soft" dir="auto" style="margin-top:16px;border-top:1px solid #e3e8ee;padding-top:12px;color:#5b6777;font-size:12px;line-height:1.5;overflow-wrap:anywhere">${lines}</div>`;
}

function blockHtml(block: Block): string {
  switch (block.kind) {
    case 'heading':
      return `<h1 class="ink" style="margin:0 0 16px;color:#1c2430;font-size:24px;line-height:1.3;font-weight:700;text-wrap:balance">${escapeMarkup(block.text)}</h1>`;
    case 'paragraph':
      return `<p class="ink" style="margin:0 0 16px;color:#1c2430;font-size:16px;line-height:1.55">${block.content.html}</p>`;
    case 'code':
      // The gaps are spacing, not spaces: the code is copied as it must be typed. The indent balances the last gap.
      return `<div class="box ink" dir="ltr" style="margin:8px 0 24px;padding:18px 8px;background:#f1f4f8;border:1px solid #d9e0e8;border-radius:10px;color:#1c2430;text-align:center;font-family:${MONOSPACE};font-size:34px;line-height:1.2;font-weight:700;letter-spacing:.25em;text-indent:.25em;white-space:nowrap;-webkit-user-select:all;user-select:all">${escapeMarkup(block.code)}</div>`;
    case 'rows':
      return `<table role="presentation" class="box" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin:8px 0 24px;padding:6px 18px;background:#f1f4f8;border:1px solid #d9e0e8;border-radius:10px;border-collapse:separate">${block.rows
        .map(
          ({ label, value }) =>
            `<tr><td class="soft" style="padding:8px 0;color:#5b6777;font-size:15px;line-height:1.4;vertical-align:top">${escapeMarkup(label)}</td><td class="ink" style="padding:8px 0;padding-inline-start:16px;color:#1c2430;font-size:16px;line-height:1.4;font-weight:700;text-align:end;overflow-wrap:anywhere"><bdi dir="ltr">${escapeMarkup(value)}</bdi></td></tr>`,
        )
        .join('')}</table>`;
    case 'note':
      return `<p class="soft" style="margin:0 0 20px;color:#5b6777;font-size:15px;line-height:1.55">${
        block.heading === undefined
          ? ''
          : `<strong class="ink" style="color:#1c2430">${escapeMarkup(block.heading)}</strong><br>`
      }${block.content.html}</p>`;
  }
}
