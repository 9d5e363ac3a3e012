import {expect, test} from 'vitest'
import {combineExitCodes, exitCodes, SrcipError} from '../../../src/model/errors.ts'

test('the exit codes are the contract of design.md 4', () => {
  expect(exitCodes).toEqual({
    Ok: 0,
    Internal: 1,
    Usage: 2,
    Changed: 20,
    NeedsAction: 21,
    CheckFailed: 22,
    Partial: 23,
    Unreachable: 30,
    Denied: 31,
    Precondition: 32,
    Conflict: 33,
    Timeout: 124,
    Interrupted: 130,
  })
})

test('of several outcomes the first of 22, 33, 31, 32, 30, 21, 23 counts', () => {
  expect(combineExitCodes([])).toBe(0)
  expect(combineExitCodes([0, 0])).toBe(0)
  expect(combineExitCodes([23, 21])).toBe(21)
  expect(combineExitCodes([23, 30, 32])).toBe(32)
  expect(combineExitCodes([31, 33])).toBe(33)
  expect(combineExitCodes([33, 22])).toBe(22)
})

test('an error carries its code, its hints and its cause', () => {
  const cause = new Error('socket closed')
  const error = new SrcipError('Unreachable', 'cannot reach the API server', {hints: ['kubectl cluster-info'], cause})
  expect([error.exitCode, error.hints, error.cause, error.object]).toEqual([
    30,
    ['kubectl cluster-info'],
    cause,
    undefined,
  ])
  expect(new SrcipError('Interrupted', 'interrupted by SIGTERM', {exitCode: 143}).exitCode).toBe(143)
})
