import type { Config } from './types.ts';

declare const config: Config;
export default config;
