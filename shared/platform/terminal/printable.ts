/** Texts that other people chose, without characters that could control the terminal. */

/** On one line. */
export const printable = (text: string): string => text.replace(/\p{Cc}+/gu, ' ').replace(/\p{Cf}/gu, '')

/** With its lines and tabs. */
export const printableLines = (text: string): string => text.replace(/[^\P{Cc}\n\t]|\p{Cf}/gu, '')

/** As JSON. Escapes stand for what could control a terminal, and leave the value as it is. */
export const printableJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(/[\u007f-\u009f]|\p{Cf}/gu, (one) => one.replace(/./gs, escaped))

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
