internal import Ferry
internal import FerryBase

struct ReportCommand: Command {
    static let name = "report"

    let arguments: Arguments

    func run(on console: Console) throws -> ExitCode {
        let (folders, report) = (arguments.operands, try ReportFile.named(by: arguments))
        try report?.check()
        var sum = FleetSum()
        for folder in folders {
            guard try FileLayer().exists(folder) else {
                throw FerryError(.notFound, "There is nothing at \(folder).", remedy: "Check the path.")
            }
            ReportFolder(path: folder).add(to: &sum)
        }
        guard sum.reports > 0 || sum.broken.stores > 0 || sum.unreadable > 0 else {
            throw FerryError(
                .notFound,
                folders.count == 1
                    ? "The folder \(folders[0]) contains no migration report."
                    : "The folders \(folders.joined(separator: ", ")) contain no migration report.",
                remedy: "Name the folder with the output of migrate --report or migrate --json.")
        }
        console.result(sum.json, text: sum.text(width:))
        try report?.write(sum)
        return sum.exitCode
    }
}

/// A folder with the reports of many migrations, read file by file.
struct ReportFolder {
    let path: String
    var files = FileLayer()

    /// GNU parallel's folders are four deep; symbolic links are not followed, so that no loop occurs.
    private static let mostDepth = 16
    /// Bytes; a report is as large as its models, not as its store.
    private static let mostBytes: Int64 = 16 << 20

    /// Adds the reports in the folder and its subfolders; the sum names unreadable files.
    func add(to sum: inout FleetSum) {
        reading(path, &sum) { sum in
            if try !files.attributes(path).isDirectory { return try add(path, to: &sum) }
            try add(folder: path, depth: 0, to: &sum)
        }
    }

    /// Runs `body`; an error counts the path as unreadable and does not stop the reading of other files.
    private func reading(_ path: String, _ sum: inout FleetSum, _ body: (inout FleetSum) throws -> Void) {
        do { try body(&sum) } catch { sum.takeUnreadable(path, FerryError.wrapping(error, on: path)) }
    }

    private func add(folder: String, depth: Int, to sum: inout FleetSum) throws {
        try files.forEachEntry(in: folder) { entry in
            let child = folder + "/" + entry.name
            reading(child, &sum) { sum in
                if !entry.isDirectory {
                    try add(child, to: &sum)
                } else if depth < Self.mostDepth {
                    try add(folder: child, depth: depth + 1, to: &sum)
                }
            }
        }
    }

    private func add(_ path: String, to sum: inout FleetSum) throws {
        guard try !files.isSymbolicLink(path), let stat = try files.attributesIfPresent(path), stat.isRegularFile
        else { return sum.takeOther() }
        // GNU parallel and Slurm name a process's output like this; an empty output means that the process was killed.
        let hasOutputName = path.hasSuffix(".json") || path.hasSuffix("/stdout") || path.hasSuffix(".out")
        let firstBytes = try files.open(path).read(count: Int(min(stat.size, 64)), at: 0)
        guard firstBytes.starts(with: ReportFile.jsonSign.utf8) else {
            if hasOutputName, stat.size == 0 { sum.takeBroken(path) } else { sum.takeOther() }
            return
        }
        guard stat.size <= Self.mostBytes, let report = JSON.read(try files.read(path, limit: Int(Self.mostBytes)))
        else { return sum.takeBroken(path) }
        if !sum.take(report) { sum.takeOther() }
    }
}
