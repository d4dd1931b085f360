internal import BenchmarkHarness
internal import FerryBase

/// The parsed command line.
struct CommandLineWords {
    static let usage = """
        ferry-bench [CASE…] [--rows N] [--repeat N] [--ferry FILE] [--json FILE] [--markdown FILE]
                    [--svg DIR] [--dir DIR]
            Measures the cases (all without a name) beside their floors.
        ferry-bench gate [CASE…] [--small | --full] [--record] [--thresholds FILE] [--ferry FILE] [--json FILE]
                         [--markdown FILE] [--svg DIR] [--dir DIR]
            Measures at a fixed scale and fails when a figure is worse than its limit in the thresholds file;
            --record writes the figures into that file instead.
        ferry-bench shapes [SHAPE…] [--rows N] [--seeds N] [--small] [--growth] [--repeat N] [--ferry FILE]
                           [--json FILE] [--markdown FILE] [--dir DIR]
            Migrates stores of many shapes, and fails when a figure misses its limit; --small takes the few
            shapes of the gate. A shape's peak is its highest, each other figure its median.
        ferry-bench list
            Names the cases and the shapes.

        --rows N         rows of the main entity; default 100000, for `memory` up to 1000000; shapes have other
                         sizes and grow in proportion
        --seeds N        the number of random shapes; default 20, with --small 2
        --growth         also measures each shape with a tenth of the rows
        --repeat N       repetitions; default 5, of shapes 3, with --growth 5, with --small 1
        --ferry FILE     the released program, which `memory` and `in-place` then run as a whole command
        --json FILE      all figures
        --markdown FILE  the measures of all cases as a page; the table of shapes within the page
        --svg DIR        a chart for each sweep
        --dir DIR        the folder for the data; default the system's temporary folder
        """

    enum Job: Equatable { case measure, gate(Thresholds.Scale), shapes, list, help }

    var job = Job.measure
    var cases: [String] = []
    var shapes: [String] = []
    /// Nil: the default number of random shapes.
    var seeds: Int?
    var isSmall = false
    var measuresGrowth = false
    /// Nil: the case's default number of rows.
    var rows: Int?
    /// Nil: the job's default number.
    var repetitions: Int?
    var isRecording = false
    var thresholds = "Benchmarks/thresholds.json"
    var tool: String?
    var json: String?
    var charts: String?
    var page: String?
    var folder: String?

    init(_ words: [String]) throws(FerryError) {
        var rest = words[...]
        switch rest.first {
        case "gate":
            rest.removeFirst()
            job = .gate(.small)
        case "shapes":
            rest.removeFirst()
            job = .shapes
        case "list":
            rest.removeFirst()
            job = .list
        default: break
        }
        while let word = rest.popFirst() {
            switch word {
            case "--help", "-h": job = .help
            case "--rows": rows = try Self.number(&rest, word)
            case "--repeat": repetitions = try Self.number(&rest, word)
            case "--ferry": tool = try Self.value(&rest, word)
            case "--json": json = try Self.value(&rest, word)
            case "--markdown": page = try Self.value(&rest, word)
            case "--svg": charts = try Self.value(&rest, word)
            case "--dir": folder = try Self.value(&rest, word)
            case "--thresholds": thresholds = try Self.value(&rest, word)
            case "--small" where job == .shapes: isSmall = true
            case "--seeds", "--growth":
                guard job == .shapes else { throw Self.wrong("\(word) belongs to `ferry-bench shapes`.") }
                if word == "--growth" { measuresGrowth = true } else { seeds = try Self.number(&rest, word) }
            case "--small", "--full", "--record":
                guard case .gate = job else { throw Self.wrong("\(word) belongs to `ferry-bench gate`.") }
                if word == "--record" { isRecording = true } else { job = .gate(word == "--full" ? .full : .small) }
            case _ where job == .shapes && ShapeCatalog.shape(word) != nil: shapes.append(word)
            default:
                guard Suite.cases.contains(where: { $0.name == word }) else {
                    throw Self.wrong("There is no case or option \(word).")
                }
                cases.append(word)
            }
        }
    }

    private static func value(_ rest: inout ArraySlice<String>, _ option: String) throws(FerryError) -> String {
        guard let value = rest.popFirst() else { throw wrong("\(option) needs a value.") }
        return value
    }

    private static func number(_ rest: inout ArraySlice<String>, _ option: String) throws(FerryError) -> Int {
        let text = try value(&rest, option)
        guard let number = Int(text.filter { $0 != "_" && $0 != "," }), number > 0 else {
            throw wrong("\(option) cannot be \(text).")
        }
        return number
    }

    private static func wrong(_ message: String) -> FerryError {
        FerryError(.usage, message, remedy: "`ferry-bench --help` shows all commands and options.")
    }
}
