import { html, render } from 'htm/preact';
import { findElement, Top } from './parts.js';

/** The page's other script sets it. */
const { SwaggerUIBundle } = /** @type {{ SwaggerUIBundle: (options: object) => unknown }} */ (
  /** @type {unknown} */ (globalThis)
);
const dark = matchMedia('(prefers-color-scheme: dark)');
const setScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);

setScheme();
dark.addEventListener('change', setScheme);
render(html`<${Top}><p>API reference</p><//><main id="reference"></main>`, findElement('page'));
SwaggerUIBundle({
  url: '/_local/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 3,
  // It would ask a server of another origin.
  validatorUrl: null,
});
