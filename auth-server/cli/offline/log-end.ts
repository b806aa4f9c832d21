/**
 * The number of the last entry of a log without gaps, 0 when it is empty, found in some forty questions however long it is: first by
 * doubling, then by halving.
 */
export async function findEnd(exists: (seq: number) => Promise<boolean>): Promise<number> {
  let [there, missing] = [0, 1]
  while (await exists(missing)) [there, missing] = [missing, missing * 2]
  while (missing - there > 1) {
    const middle = Math.floor((there + missing) / 2)
    if (await exists(middle)) there = middle
    else missing = middle
  }
  return there
}
