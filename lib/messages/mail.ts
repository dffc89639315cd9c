import type { Brand } from '../config/deployment.ts';
import { asciiEmail } from '../validators/email.ts';
import { escapeMarkup } from './escape.ts';
import type { Mail } from './message.ts';
import { fill, type Translation } from './translations/translation.ts';

export interface EmailSettings {
  /** An address that SES may send from. */
  senderAddress: string;
  configurationSet?: string | undefined;
}

/** The sender and reply address of every mail: the brand's name with the sender address, and its support address. */
export function mailSenderFields(
  settings: EmailSettings,
  brand: Brand,
): Pick<Mail, 'from' | 'replyTo' | 'configurationSet'> {
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

interface MailContent {
  translation: Translation;
  brand: Brand;
  subject: string;
  /** The preview next to the subject, also on a locked screen: never the code. */
  preheader: string;
  /** The content between header and footer, in this order, in both parts of the mail. */
  blocks: Rich[];
}

export type FramedMail = Pick<Mail, 'subject' | 'text' | 'html'>;

/**
 * A value inside a sentence. In HTML, and in plain text from right to left, the text around it does not change its
 * direction.
 */
export function isolatedValue(value: string, { direction }: Pick<Translation, 'direction'>): Rich {
  return {
    text: direction === 'rtl' ? `\u2068${value}\u2069` : value,
    html: `<bdi>${escapeMarkup(value)}</bdi>`,
  };
}

/** A phrase with its values, in both forms. Values given as text are ours and need no isolation. */
export function richPhrase(phrase: string, values: Record<string, Rich | string> = {}): Rich {
  const texts: Record<string, string> = {};
  const htmls: Record<string, string> = {};
  for (const [name, value] of Object.entries(values)) {
    const { text, html } = typeof value === 'string' ? { text: value, html: escapeMarkup(value) } : value;
    texts[name] = text;
    htmls[name] = html;
  }
  return { text: fill(phrase, texts), html: fill(escapeMarkup(phrase), htmls) };
}

const FONT = "-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'Noto Sans',sans-serif";
const MONOSPACE = "ui-monospace,'SF Mono',Menlo,Consolas,'Liberation Mono',monospace";

/** Colors of text and surfaces in dark mode. The light ones are inline, for programs that drop style elements. */
const STYLE = `:root{color-scheme:light dark;supported-color-schemes:light dark}
a[x-apple-data-detectors]{color:inherit!important;text-decoration:none!important}
@media (max-width:480px){.pad{padding-left:20px!important;padding-right:20px!important}.page{padding:0!important}.card{border-radius:0!important;border-width:0!important}}
@media (prefers-color-scheme:dark){.page{background:#0f1318!important}.card{background:#1b212a!important;border-color:#2e3744!important}.ink{color:#eef1f5!important}.soft{color:#a9b3c0!important}.box{background:#262e3a!important;border-color:#3a4553!important}.line{border-color:#2e3744!important}}`;

/**
 * The frame of every mail: header in the brand's color, content, support address, footer. Tables and inline styles,
 * because mail programs know little else; a style element for dark mode. Only the brand's logo is loaded from
 * elsewhere.
 */
export function framedMail({ translation, brand, subject, preheader, blocks }: MailContent): FramedMail {
  const direction = translation.direction ?? 'ltr';
  // A hexadecimal color may look like the code, which is found by its six digits.
  const color = `rgb(${rgbChannels(brand.color).join(',')})`;
  const ink = contrastingInk(brand.color);
  const end = closing(translation, brand);
  const text = [brand.name, ...[...blocks, ...end].map((part) => part.text)].join('\n\n');
  const html = `<!doctype html>
<html lang="${translation.language}" dir="${direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no,date=no,address=no,email=no">
<meta name="x-apple-disable-message-reformatting">
<title>${escapeMarkup(subject)}</title>
<style>${STYLE}</style>
</head>
<body class="page" style="margin:0;padding:0;background:#f1f4f8">
<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">${escapeMarkup(preheader)}${'&#847;&zwnj;&nbsp;'.repeat(90)}</div>
<table role="presentation" class="page" width="100%" cellpadding="0" cellspacing="0" border="0" style="background:#f1f4f8;padding:24px 12px" dir="${direction}"><tr><td align="center">
<!--[if mso]><table role="presentation" width="560" cellpadding="0" cellspacing="0"><tr><td><![endif]-->
<table role="presentation" class="card" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:560px;background:#fff;border:1px solid #d9e0e8;border-radius:12px;border-collapse:separate;overflow:hidden;font-family:${FONT};text-align:start;word-break:${translation.wordBreak ?? 'normal'}">
<tr><td class="pad" style="padding:20px 32px;background:${color};color:${ink};font-size:20px;line-height:1.3;font-weight:700">${brandMark(brand, ink)}</td></tr>
<tr><td class="pad" style="padding:32px 32px 8px">
${blocks.map((part) => part.html).join('\n')}
</td></tr>
<tr><td class="pad" style="padding:0 32px 28px">
${end.map((part) => part.html).join('\n')}
</td></tr>
</table>
<!--[if mso]></td></tr></table><![endif]-->
</td></tr></table>
</body>
</html>
`;
  return { subject, text: `${text}\n`, html };
}

/** The logo, with its text in place of it until a mail program loads images; or the name. */
function brandMark({ name, logo }: Brand, ink: string): string {
  if (logo === undefined) return `<bdi>${escapeMarkup(name)}</bdi>`;
  const [url, alt] = [escapeMarkup(logo.url), escapeMarkup(logo.alt)];
  return `<img src="${url}" alt="${alt}" height="40" style="display:block;height:40px;width:auto;max-width:100%;border:0;color:${ink};font-size:20px;line-height:40px;font-weight:700">`;
}

/** The end of a mail: the support address, that the message is automatic, and the legal text of the brand. */
function closing({ footer, ...translation }: Translation, brand: Brand): Rich[] {
  // The address is at the end of its line and without marks around it, so that it can be copied from plain text.
  const support = richPhrase(footer.support, { email: addressLink(brand.supportEmail) });
  const automatic = richPhrase(footer.automatic, { brand: isolatedValue(brand.name, translation) });
  const { legal } = brand;
  const legalText =
    typeof legal === 'string'
      ? legal
      : (legal?.[translation.language] ?? legal?.[translation.language.slice(0, 2)] ?? legal?.en);
  return [
    {
      text: support.text,
      html: `<div class="line ink" style="border-top:1px solid #e3e8ee;padding-top:20px;color:#1c2430;font-size:15px;line-height:1.55;overflow-wrap:anywhere">${support.html}</div>`,
    },
    {
      text: `--\n${automatic.text}`,
      html: `<div class="soft" style="padding-top:12px;color:#5b6777;font-size:13px;line-height:1.5">${automatic.html}</div>`,
    },
    ...(legalText === undefined ? [] : [legalBlock(legalText)]),
  ];
}

function addressLink(email: string): Rich {
  const address = escapeMarkup(email);
  const href = escapeMarkup(encodeURI(email));
  return {
    text: email,
    html: `<a class="ink" href="mailto:${href}" dir="ltr" style="color:#1c2430;text-decoration:underline"><bdi>${address}</bdi></a>`,
  };
}

/** The legal text has its own direction, because it may be in another language. */
function legalBlock(text: string): Rich {
  const lines = escapeMarkup(text).replaceAll('\n', '<br>');
  return {
    text,
    html: `<div class="line soft" dir="auto" style="margin-top:16px;border-top:1px solid #e3e8ee;padding-top:12px;color:#5b6777;font-size:12px;line-height:1.5;overflow-wrap:anywhere">${lines}</div>`,
  };
}

/** The blocks of a mail. */
export const mailBlock = {
  heading(text: string): Rich {
    return {
      text,
      html: `<h1 class="ink" style="margin:0 0 16px;color:#1c2430;font-size:24px;line-height:1.3;font-weight:700;text-wrap:balance">${escapeMarkup(text)}</h1>`,
    };
  },

  paragraph({ text, html }: Rich): Rich {
    return {
      text,
      html: `<p class="ink" style="margin:0 0 16px;color:#1c2430;font-size:16px;line-height:1.55">${html}</p>`,
    };
  },

  /** The gaps are spacing, not spaces: the code is copied as it must be typed. The indent balances the last gap. */
  code(code: string): Rich {
    return {
      text: code,
      html: `<div class="box ink" dir="ltr" style="margin:8px 0 24px;padding:18px 8px;background:#f1f4f8;border:1px solid #d9e0e8;border-radius:10px;color:#1c2430;text-align:center;font-family:${MONOSPACE};font-size:34px;line-height:1.2;font-weight:700;letter-spacing:.25em;text-indent:.25em;white-space:nowrap;-webkit-user-select:all;user-select:all">${escapeMarkup(code)}</div>`,
    };
  },

  rows(rows: readonly { label: string; value: string }[]): Rich {
    const html = rows.map(
      ({ label, value }) =>
        `<tr><td class="soft" style="padding:8px 0;color:#5b6777;font-size:15px;line-height:1.4;vertical-align:top">${escapeMarkup(label)}</td><td class="ink" style="padding:8px 0;padding-inline-start:16px;color:#1c2430;font-size:16px;line-height:1.4;font-weight:700;text-align:end;overflow-wrap:anywhere"><bdi dir="ltr">${escapeMarkup(value)}</bdi></td></tr>`,
    );
    return {
      text: rows.map(({ label, value }) => `${label}: ${value}`).join('\n'),
      html: `<table role="presentation" class="box" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin:8px 0 24px;padding:6px 18px;background:#f1f4f8;border:1px solid #d9e0e8;border-radius:10px;border-collapse:separate">${html.join('')}</table>`,
    };
  },

  note({ text, html }: Rich, title?: string): Rich {
    const strong =
      title === undefined ? '' : `<strong class="ink" style="color:#1c2430">${escapeMarkup(title)}</strong><br>`;
    return {
      text: title === undefined ? text : `${title}\n${text}`,
      html: `<p class="soft" style="margin:0 0 20px;color:#5b6777;font-size:15px;line-height:1.55">${strong}${html}</p>`,
    };
  },
};

/** A color of the brand as red, green and blue from 0 to 255. */
export function rgbChannels(color: string): [red: number, green: number, blue: number] {
  const value = Number.parseInt(color.slice(1), 16);
  return [(value >> 16) & 0xff, (value >> 8) & 0xff, value & 0xff];
}

/** Black or white, which has more contrast on the color: always at least 4.5:1 (WCAG 2, AA). */
export function contrastingInk(color: string): 'black' | 'white' {
  const [red, green, blue] = rgbChannels(color).map(linear) as [number, number, number];
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  const onWhite = 1.05 / (luminance + 0.05);
  const onBlack = (luminance + 0.05) / 0.05;
  return onBlack > onWhite ? 'black' : 'white';
}

/** One channel of sRGB as linear light from 0 to 1 (WCAG 2, relative luminance). */
function linear(channel: number): number {
  const share = channel / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}
