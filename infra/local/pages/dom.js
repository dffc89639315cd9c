/**
 * An element with attributes and children. Texts become text nodes: nothing on this page is ever made of markup.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number | boolean | undefined>} [attributes] true: present, false or undefined: absent
 * @param {...(Node | string | undefined)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    made.setAttribute(name, value === true ? '' : String(value));
  }
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

/**
 * One of the symbols that stand at the head of the page; decoration, without a name.
 *
 * @param {string} name
 */
export function icon(name) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  const use = document.createElementNS('http://www.w3.org/2000/svg', 'use');
  use.setAttribute('href', `#icon-${name}`);
  svg.append(use);
  return svg;
}

/**
 * The element of this id, which the page has.
 *
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`The page has no #${id}.`);
  return found;
}

/**
 * Says something to those who do not see the page change.
 *
 * @param {string} words
 */
export function announce(words) {
  byId('announcer').textContent = words;
}

const COPIED_MS = 2_000;

/**
 * A button that copies a text, and says so.
 *
 * @param {string} label
 * @param {() => string} text
 * @param {Record<string, string>} [attributes]
 */
export function copyButton(label, text, attributes = {}) {
  const button = element('button', { type: 'button', class: 'copy', ...attributes }, label);
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = 'Copied';
      announce('Copied');
    } catch {
      button.textContent = 'Not allowed';
      announce('The browser did not allow copying');
    }
    setTimeout(() => {
      button.textContent = label;
    }, COPIED_MS);
  });
  return button;
}

/**
 * Puts nodes into a parent in this order, moving only those that stand elsewhere: a frame that is moved loads again.
 *
 * @param {Element} parent
 * @param {Element[]} wanted
 */
export function arrange(parent, wanted) {
  const keep = new Set(wanted);
  for (const child of [...parent.children]) if (!keep.has(child)) child.remove();
  wanted.forEach((child, index) => {
    const standing = parent.children[index];
    if (standing !== child) parent.insertBefore(child, standing ?? null);
  });
}

/**
 * Shows or hides a count beside a word.
 *
 * @param {string} id
 * @param {number} count
 */
export function showCount(id, count) {
  const place = byId(id);
  place.textContent = count === 0 ? '' : count.toLocaleString('en');
  place.hidden = count === 0;
}
