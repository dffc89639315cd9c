// SPDX-License-Identifier: 0BSD
import htm from './vendor/htm.js';
import { h } from './vendor/preact.js';

/** Markup as template literals. All values are rendered as text. */
export const html = htm.bind(h);

/** Splits a text into what is before a link, its words and its address, and so on. */
const LINK = /\[([^\]]+)\]\((https:\/\/[^\s()]+)\)/;

/** A text without its links, for places that can have none. @param {string} text */
export function plainText(text) {
  return text.replaceAll(new RegExp(LINK, 'g'), '$1');
}

/**
 * A text with its links: `[terms](https://…)`. They open next to the form, so that nothing typed is lost. Other markup
 * stays text.
 *
 * @param {string} text
 */
export function linkedText(text) {
  const parts = text.split(LINK);
  return parts.map((part, index) => {
    if (index % 3 === 0) return part;
    return index % 3 === 1 && html`<a href=${parts[index + 1]} target="_blank" rel="noopener noreferrer">${part}</a>`;
  });
}
