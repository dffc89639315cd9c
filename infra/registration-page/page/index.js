// SPDX-License-Identifier: 0BSD
import config from './config.js';
import { start } from './register.js';

/** The page of this folder. A page of your own needs the same two calls, and `register.css`. */
const element = document.querySelector('#registration');
if (element instanceof HTMLElement) {
  const { language, direction } = await start(element, config);
  Object.assign(document.documentElement, { lang: language, dir: direction });
}
