/// One place of a case's sweep: how much data, and what is varied.
package struct BenchPoint: Sendable, Hashable, Codable {
    /// Empty where a case has one point only.
    package var label: String
    package var rows: Int
    /// What the case varies, such as rows per chunk.
    package var parameter: Int

    package init(_ label: String = "", rows: Int, parameter: Int = 0) {
        self.label = label
        self.rows = rows
        self.parameter = parameter
    }
}
