/// One repetition of a case: a sample of each side at each point.
package struct Round: Sendable {
    struct Place: Hashable {
        var side: String
        var point: BenchPoint
    }

    /// The case's points, in order.
    package let points: [BenchPoint]
    var samples: [Place: Sample] = [:]
    /// The samples of the counting runs; equal in each repetition.
    var counted: [Place: Sample] = [:]

    package init(points: [BenchPoint]) { self.points = points }

    package func sample(_ side: String, at point: BenchPoint) -> Sample? { samples[Place(side: side, point: point)] }

    /// Returns the sample of a side's counting run.
    package func counted(_ side: String, at point: BenchPoint) -> Sample? { counted[Place(side: side, point: point)] }

    package mutating func set(_ sample: Sample, of side: String, at point: BenchPoint) {
        samples[Place(side: side, point: point)] = sample
    }

    package mutating func setCounted(_ sample: Sample, of side: String, at point: BenchPoint) {
        counted[Place(side: side, point: point)] = sample
    }
}
