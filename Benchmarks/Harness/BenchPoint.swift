/// One point of a case's sweep: the amount of data, and the varied parameter.
package struct BenchPoint: Sendable, Hashable, Codable {
    /// Empty for a case with one point.
    package var label: String
    package var rows: Int
    /// The varied parameter, such as rows per chunk.
    package var parameter: Int

    package init(_ label: String = "", rows: Int, parameter: Int = 0) {
        self.label = label
        self.rows = rows
        self.parameter = parameter
    }
}
