import FerryBase
import Foundation
import TestSupport
import Testing

/// Pipes, devices and folders in the place of a file, and numbers that no file should have.
@Suite("Hostile files")
struct HostileFileTests {
    private let files = FileLayer()

    @Test("A pipe, a device and a folder are refused at once, by every operation")
    func refusesWhatIsNoFile() throws {
        let folder = try TemporaryFolder()
        let pipe = folder.file("pipe")
        try #require(mkfifo(pipe, 0o600) == 0)
        for path in [pipe, "/dev/zero", folder.path] {
            for use in [
                { _ = try files.open(path) }, { _ = try files.read(path) },
                { try files.copy(path, to: folder.file("copy")) }, { _ = try files.append(to: path) },
            ] {
                let error = #expect(throws: FerryError.self, "\(path)") { try use() }
                // The system first checks whether the file may be opened for writing.
                #expect([.notARegularFile, .fileFailed].contains(error?.code))
            }
            #expect(throws: FerryError.self) { _ = try files.read(path) }
        }
        // The pipe has no other end: waiting for one would never end.
        #expect(try !files.isLocked(pipe))
        #expect(try !files.exists(folder.file("copy")))
    }

    @Test("A file may have any year")
    func anyYear() throws {
        let folder = try TemporaryFolder()
        try files.replace(folder.file("a"), with: [1])
        var times = [timespec(), timespec()]
        for year in [Int.max >> 8, -(Int.max >> 8), 253_402_300_799] {
            times[0].tv_sec = year
            times[1].tv_sec = year
            // A volume keeps the nearest time that it supports.
            #expect(utimensat(AT_FDCWD, folder.file("a"), times, 0) == 0)
            #expect(try files.attributes(folder.file("a")).size == 1)
        }
    }

    @Test("A sum of numbers from a file is clamped to its type's range")
    func sums() {
        #expect([1, 2, -4].clampedSum == -1)
        #expect([Int64.max, 1].clampedSum == .max && [Int64.min, -1].clampedSum == .min)
        #expect([Int]().clampedSum == 0)
    }

    @Test("Memory limits above any machine's memory are refused, and the highest one is divided without overflow")
    func limits() throws {
        #expect(throws: FerryError.self) { try MemoryBudget.check(.max) }
        #expect(throws: FerryError.self) { try MemoryBudget.check(MemoryBudget.most + 1) }
        #expect(throws: FerryError.self) { try MemoryBudget.check(.min) }
        try MemoryBudget.check(MemoryBudget.most)
        let budget = MemoryBudget(limit: MemoryBudget.most)
        #expect(budget.lookups > 0 && budget.snapshot > 0 && budget.workingCaches > 0)
    }
}
