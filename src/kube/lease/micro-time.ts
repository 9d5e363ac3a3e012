/**
 * Writes a time as metav1.MicroTime: Go parses the layout `2006-01-02T15:04:05.000000Z07:00`, so exactly six fraction
 * digits, and refuses toISOString()'s three with 400 (controller.md 3.7).
 * @param wallMs milliseconds since 1970
 */
export function microTime(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/\.(\d{3})Z$/, '.$1000Z')
}
