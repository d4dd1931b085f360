import Dispatch
import FerryBase
import Foundation
import Testing

@Suite("Ferry's threads")
struct WorkThreadTests {
    /// Writes to a stack frame of 16 KiB at each depth.
    private static func descend(_ depth: Int) -> Int {
        withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) { frame in
            frame.initializeMemory(as: UInt8.self, repeating: UInt8(truncatingIfNeeded: depth))
            return depth == 0 ? Int(frame[0]) : descend(depth - 1) + Int(frame[1]) - Int(frame[2])
        }
    }

    @Test("Each has the stack of a main thread, whatever the system's default")
    func stack() throws {
        let (done, depth) = (DispatchSemaphore(value: 0), Locked(-1))
        try WorkThread.start("ferry test") {
            // Seven of its eight MiB.
            let reached = WorkThreadTests.descend((7 << 20) / (16 << 10))
            depth.withLock { $0 = reached }
            done.signal()
        }
        done.wait()
        #expect(depth.withLock { $0 } == 0)
    }

    private struct Failure: Error, Equatable {}

    @Test("Work that needs a stack runs from a thread of 512 KiB, and its result or error is returned")
    func smallThread() {
        let (done, found) = (DispatchSemaphore(value: 0), Locked<[Int]>([]))
        let thread = Thread {
            let reached = WorkThread.withStack { WorkThreadTests.descend((1 << 20) / (16 << 10)) }
            do throws(Failure) {
                try WorkThread.withStack { () throws(Failure) in throw Failure() }
            } catch {
                found.withLock { $0 = [reached, 1] }
            }
            done.signal()
        }
        thread.stackSize = 512 << 10
        thread.start()
        done.wait()
        #expect(found.withLock { $0 } == [0, 1])
    }

    @Test("Work with enough stack stays on the calling thread")
    func largeThread() throws {
        let (done, same) = (DispatchSemaphore(value: 0), Locked(false))
        try WorkThread.start("ferry test") {
            let here = ObjectIdentifier(Thread.current)
            let there = WorkThread.withStack { ObjectIdentifier(Thread.current) }
            same.withLock { $0 = here == there }
            done.signal()
        }
        done.wait()
        #expect(same.withLock { $0 })
    }
}
