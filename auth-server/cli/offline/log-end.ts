/**
 * Finds the number of the last entry of a log without gaps; 0 for an empty log. It first doubles the number, then
 * halves the interval. So it asks about forty questions at most, also for a very long log.
 */
export async function findEnd(exists: (seq: number) => Promise<boolean>): Promise<number> {
  let [existing, missing] = [0, 1]
  while (await exists(missing)) [existing, missing] = [missing, missing * 2]
  while (missing - existing > 1) {
    const middle = Math.floor((existing + missing) / 2)
    if (await exists(middle)) existing = middle
    else missing = middle
  }
  return existing
}
