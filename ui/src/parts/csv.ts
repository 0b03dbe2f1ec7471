const field = (value: unknown) => {
  const text = value === undefined || value === null ? '' : String(value);
  return `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
};

/** Rows as CSV (RFC 4180). A field that a spreadsheet would take for a formula begins with an apostrophe. */
export function csvOf<T extends object>(columns: Array<keyof T & string>, rows: T[]): string {
  return [columns.map(field), ...rows.map(row => columns.map(column => field(row[column])))]
    .map(line => `${line.join(',')}\r\n`)
    .join('');
}

/** Gives the person a file. */
export function save(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
