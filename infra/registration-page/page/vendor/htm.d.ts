import type { VNode } from 'preact';

declare const htm: {
  bind(create: unknown): (strings: TemplateStringsArray, ...values: unknown[]) => VNode;
};
export default htm;
