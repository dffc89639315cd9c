/** What a setting means, and what tests need to know about it. */
export interface SettingRow {
  /** The page's phrase, in Markdown. */
  words: string;
  /** The page's words for a setting that is not given, if the schema has no default. Absent: `none`. */
  absent?: string;
  /**
   * A second value, different from the default and from `EVERYTHING` of `test/support/stack.ts`, with which tests see
   * that the setting has an effect. Flags with a default and numbers need none, but those of a `MessageRow`.
   */
  other?: unknown;
  /** The other settings that the second value needs; then tests change it alone. */
  beside?: Readonly<Record<string, unknown>>;
}

/** Of a setting whose second value a message has, as it is written. */
export type MessageRow = SettingRow & Required<Pick<SettingRow, 'other'>>;
