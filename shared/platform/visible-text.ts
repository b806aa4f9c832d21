/** Which texts of callers can be read: as a name they are links and buttons, and nobody can press what has no shape. */

/** What breaks a line, and other control characters. */
export const lineBreaking = /[\p{Cc}\p{Zl}\p{Zp}]/u

/**
 * Not a blank, a character that is ignored where it is shown, such as a zero width space, nor a mark without a letter
 * below it. Blanks that Unicode counts among symbols and letters are named: of Braille, of notes, of hieroglyphs.
 */
const visible =
  /[^\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Cs}\p{Mn}\p{Me}\u2800\u{1D159}\u{13441}\u{13442}]/u

/** True for a text with a visible character, and for an empty one. */
export const isVisible = (text: string): boolean => text === '' || visible.test(text)
