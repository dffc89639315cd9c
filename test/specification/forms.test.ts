import { PARTS } from './parts.ts';
import { walk } from './walk.ts';

walk(PARTS.forms);
