import FerryBase
import TestSupport
import Testing

@Suite("A work folder")
struct WorkFolderTests {
    private struct Failure: Error {}

    private let folder: TemporaryFolder
    private let files = FileLayer()

    init() throws { folder = try TemporaryFolder() }

    private func names() throws -> [String] { try files.list(folder.path).map(\.name).sorted() }

    @Test("Only the owner can read a work folder, which is removed after success or failure of the work")
    func isPrivate() throws {
        try files.withWorkFolder(named: "work", in: folder.path) { path in
            #expect(try files.attributes(path).mode == 0o700)
            try files.createPrivately(path + "/values")
            #expect(try files.attributes(path + "/values").mode == 0o600)
        }
        #expect(throws: Failure.self) {
            try files.withWorkFolder(named: "work", in: folder.path) { path in
                try files.createPrivately(path + "/values")
                throw Failure()
            }
        }
        #expect(try names() == [])
    }

    @Test("The next process removes a killed process's folder, but none of a running one, and no other folder")
    func removesLeftovers() throws {
        // A killed process leaves a free lock, or no lock yet.
        for name in ["work-left", "work-bare", "workshop", "other-left"] {
            try files.createDirectory(folder.file(name))
            try files.replace(folder.file(name) + "/values", with: [1])
        }
        try files.replace(folder.file("work-left/lock"), with: [])
        try files.replace(folder.file("work-file"), with: [1])
        try files.withWorkFolder(named: "work", in: folder.path) { first in
            try files.withWorkFolder(named: "work", in: folder.path) { second in
                #expect(first != second)
                let own = [FileLayer.name(of: first), FileLayer.name(of: second)]
                let found = try names()
                #expect(found == (own + ["other-left", "work-file", "workshop"]).sorted())
            }
            #expect(try files.exists(first))
        }
        #expect(try names() == ["other-left", "work-file", "workshop"])
    }

    @Test("Folders of concurrent processes are kept, at their beginning and at their end")
    func severalAtOnce() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { [parent = folder.path] in
                    for _ in 0..<500 {
                        try FileLayer().withWorkFolder(named: "work", in: parent) { path in
                            try FileLayer().createPrivately(path + "/values")
                            #expect(try FileLayer().exists(path + "/lock"))
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try names() == [])
    }

    @Test("A clock that is set back counts as no elapsed time")
    func clock() {
        #expect(Clock.nanoseconds(from: 5, to: 12) == 7)
        #expect(Clock.nanoseconds(from: 12, to: 5) == 0)
        #expect(Clock.nanoseconds(from: .max, to: 0) == 0)
        #expect(Clock.nanoseconds(since: .max) == 0 && Clock.seconds(since: .max) == 0)
    }
}
