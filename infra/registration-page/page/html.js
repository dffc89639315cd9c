// SPDX-License-Identifier: 0BSD
import htm from './vendor/htm.js';
import { h } from './vendor/preact.js';

/** Markup as template literals. All values are rendered as text. */
export const html = htm.bind(h);
