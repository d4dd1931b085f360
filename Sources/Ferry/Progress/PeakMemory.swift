/// The most memory that this process ever held.
package enum PeakMemory {}
