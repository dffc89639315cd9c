// SPDX-License-Identifier: 0BSD
import config from './config.js';
import { pagePolicy } from './policy.js';

/**
 * The page of this folder. A page of yours needs `start` alone, and has its own policy and title. The policy is added
 * before anything else is loaded.
 */
const policy = { httpEquiv: 'Content-Security-Policy', content: pagePolicy(config, location.href) };
document.head.append(Object.assign(document.createElement('meta'), policy));
const { start } = await import('./register.js');

const element = document.querySelector('#registration');
if (element instanceof HTMLElement) {
  const { language, direction } = await start(element, config, (heading) => {
    document.title = config.brand === undefined ? heading : `${heading} – ${config.brand}`;
  });
  Object.assign(document.documentElement, { lang: language, dir: direction });
}
