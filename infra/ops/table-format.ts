import { printableLine } from './terminal.ts';

/** The lines of a table with headings. Two spaces end a column, so no cell contains two spaces in a row. */
export function formatTable(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const cells = [headings, ...rows].map((row) =>
    row.map((text) => printableLine(text).replaceAll(/\s+/gu, ' ').trim()),
  );
  const widths = headings.map((_, column) => cells.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0));
  return cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
