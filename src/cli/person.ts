import {hostname, userInfo} from 'node:os'

/** Who sits at this machine, as user@host; where the uid has no name, as in many containers, it stands for itself. */
export function person(): string {
  let user: string
  try {
    user = userInfo().username
  } catch {
    user = `uid-${process.getuid?.() ?? 'unknown'}`
  }
  return `${user}@${hostname()}`
}
