import Dispatch
import FerryBase
import Testing

@Suite("Threads of ours")
struct WorkThreadTests {
    /// Touches a frame of 16 KiB at each depth.
    private static func descend(_ depth: Int) -> Int {
        withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) { frame in
            frame.initializeMemory(as: UInt8.self, repeating: UInt8(truncatingIfNeeded: depth))
            return depth == 0 ? Int(frame[0]) : descend(depth - 1) + Int(frame[1]) - Int(frame[2])
        }
    }

    @Test("Each has the stack of a main thread, whatever the system gives by itself")
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
}
