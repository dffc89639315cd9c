import type { SentMessage } from './outbox.ts';

const KIND_WORDS: Record<SentMessage['kind'], string> = {
  email: 'E-mail',
  sms: 'SMS',
  call: 'Call',
  whatsapp: 'WhatsApp',
  popup: 'Pop-up',
};

/** The outbox as a page for people, newest first; it loads itself again every five seconds. */
export function outboxPage(messages: readonly SentMessage[]): string {
  const cards = messages.toReversed().map(card).join('\n');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="5">
<title>Outbox (${messages.length})</title>
<style>
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 46rem; padding: 1rem; }
article { border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: .5rem; margin: 1rem 0; padding: 1rem; }
header { display: flex; flex-wrap: wrap; gap: .25rem 1rem; justify-content: space-between; }
h1 { font-size: 1.5rem; } h2 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; }
time { opacity: .7; } pre { font: inherit; margin: .75rem 0 0; overflow-wrap: anywhere; white-space: pre-wrap; }
iframe { background: #fff; border: 0; border-radius: .25rem; height: 26rem; margin-top: .75rem; width: 100%; }
</style>
</head>
<body>
<main>
<h1>Outbox</h1>
${messages.length === 0 ? '<p>Nothing was sent yet.</p>' : cards}
</main>
</body>
</html>
`;
}

function card({ kind, to, at, subject, text, html, language }: SentMessage): string {
  const lang = language === undefined ? '' : ` lang="${escapeHtml(language)}"`;
  // The mail's own page stands in a frame that may do nothing.
  const body =
    html === undefined
      ? `<pre dir="auto"${lang}>${escapeHtml(text)}</pre>`
      : `<iframe sandbox title="The mail as it is read" srcdoc="${escapeHtml(html)}"></iframe>
<details><summary>As text</summary><pre dir="auto"${lang}>${escapeHtml(text)}</pre></details>`;
  return `<article>
<header><h2>${KIND_WORDS[kind]} to ${escapeHtml(to)}</h2><time datetime="${at}">${at}</time></header>
${subject === undefined ? '' : `<p dir="auto"${lang}><strong>${escapeHtml(subject)}</strong></p>`}
${body}
</article>`;
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
