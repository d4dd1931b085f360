internal import FerryBase

struct ReportCommand: Command {
    static let syntax = Syntax(
        "report", summary: "Sums the JSON reports of any number of migrations.",
        discussion:
            "Reads every file in the folders, and in those below them, that holds what migrate --json printed or "
            + "--report wrote: so it takes the results of GNU parallel, of Slurm and of a folder of reports alike. Tells "
            + "how many stores ended how, for which reasons, how many objects they have, and how long it took. Each file "
            + "counts once; other files are passed over, and symbolic links not followed. Files that cannot be read are "
            + "named, and the exit code is that of the worst of them.",
        operands: [.init("FOLDER", .several, "A folder of reports, or a report.")],
        options: [ReportFile.option],
        example: "ferry report reports --report fleet.html")

    private let folders: [String]
    private let report: ReportFile?

    init(from arguments: Arguments) throws(FerryError) {
        folders = arguments.operands
        report = try ReportFile(from: arguments)
    }

    func run(on console: Console) throws -> ExitCode {
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
                    ? "The folder \(folders[0]) holds no report of a migration."
                    : "The folders \(folders.joined(separator: ", ")) hold no report of a migration.",
                remedy: "Name the folder that migrate --report wrote to, or that holds what migrate --json printed.")
        }
        console.result(sum.json, text: sum.text(width:))
        try report?.write(.fleet, sum.json)
        return sum.exitCode
    }
}
