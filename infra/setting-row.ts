/** The meaning of a setting, and what tests need to know about it. */
export interface SettingRow {
  /** The page's phrase, in Markdown. */
  words: string;
  /** The page's words for an absent setting, if the schema has no default. Absent: `none`. */
  absent?: string;
  /**
   * A second value, different from the default and from `EVERYTHING` of `test/support/stack.ts`, with which tests see
   * that the setting has an effect. Flags with a default and numbers need none, but those of a `MessageRow`.
   */
  other?: unknown;
  /** The other settings that the second value needs. If present, tests change this setting apart from the others. */
  beside?: Readonly<Record<string, unknown>>;
}

/** The row of a setting whose second value is part of a message, as it is written. */
export type MessageRow = SettingRow & Required<Pick<SettingRow, 'other'>>;
