// SPDX-License-Identifier: 0BSD
import htm from './vendor/htm.js';
import { h } from './vendor/preact.js';

/** Markup as template literals. All values are rendered as text. */
export const html = htm.bind(h);

/**
 * A text with its links: `[terms](https://…)`. They open next to the form, so that nothing typed is lost. Other markup
 * stays text.
 *
 * @param {string} text
 */
export function linkedText(text) {
  // Each link is three parts: what is before it, its words and its address.
  const parts = text.split(/\[([^\]]+)\]\((https:\/\/[^\s()]+)\)/);
  return parts.map((part, index) => {
    if (index % 3 === 0) return part;
    return index % 3 === 1 && html`<a href=${parts[index + 1]} target="_blank" rel="noopener noreferrer">${part}</a>`;
  });
}
