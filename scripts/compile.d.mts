/** What the programs read at run time: see `compile.mjs`. */
export const besideCode: readonly string[]
