/** Texts that other people chose, without characters that could control the terminal. */

/** On one line. */
export const printable = (text: string): string => text.replace(/\p{Cc}+/gu, ' ').replace(/\p{Cf}/gu, '')

/** With its lines and tabs. */
export const printableLines = (text: string): string => text.replace(/[^\P{Cc}\n\t]|\p{Cf}/gu, '')
